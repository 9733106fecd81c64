// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/brain.hpp"
#include "kube/job_health_reports.hpp"

namespace autopilot::controller {

// The report of the in-flight engine as the object of the cluster. Pure.
[[nodiscard]] kube::JobHealthReport job_report_fact(const jobs::JobReport& report, WallTime now);

// True if only progress and times of the report itself differ.
[[nodiscard]] bool says_the_same(const kube::JobHealthReport& one, const kube::JobHealthReport& other);

// Ended jobs keep their report for this long, and so do jobs without a new report.
inline constexpr Duration kKeepEnded = std::chrono::hours{24};
[[nodiscard]] bool is_outdated(const kube::JobHealthReport& report, WallTime now);

}  // namespace autopilot::controller
