// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "kube/remediation.hpp"

namespace autopilot::cli {

// True if the plan is not over: it has steps to do or to undo, or it is a dry run.
[[nodiscard]] bool is_current(const kube::RemediationPlan& plan);
// The newest first.
void sort_newest_first(std::vector<kube::RemediationPlan>& plans);

[[nodiscard]] std::string render_plans(std::span<const kube::RemediationPlan> plans, WallTime now,
                                       const TableStyle& style);
// All details of one plan.
[[nodiscard]] std::string render_plan(const kube::RemediationPlan& plan, WallTime now,
                                      const TableStyle& style);

}  // namespace autopilot::cli
