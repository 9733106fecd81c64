// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "kube/job_health_reports.hpp"

// `kubectl autopilot jobs`: from the JobHealthReports that the controller writes, which a user reads with the
// permission `list jobhealthreports` in a namespace or in all. Pure.
namespace autopilot::cli {

// Jobs that run first, those in trouble at the top; then by name.
void sort_by_trouble(std::vector<kube::JobHealthReport>& reports);
// The report of that job: by its key, its object's name, or its display name if only one job has it; null: no
// job, or several.
[[nodiscard]] const kube::JobHealthReport* find_job(std::span<const kube::JobHealthReport> reports,
                                                    std::string_view name);

[[nodiscard]] std::string render_job_reports(std::span<const kube::JobHealthReport> reports, WallTime now,
                                             const TableStyle& style);
// Everything about one job.
[[nodiscard]] std::string render_job_report(const kube::JobHealthReport& report, WallTime now,
                                            const TableStyle& style);
// What stopped or slows it, since when, because of what, the evidence, what to do: one screen.
[[nodiscard]] std::string render_job_cause(const kube::JobHealthReport& report, WallTime now);

}  // namespace autopilot::cli
