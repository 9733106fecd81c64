// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "cli/output/table.hpp"
#include "learning/hazard/fault_events.hpp"
#include "learning/hazard/hazard_evaluation.hpp"

namespace autopilot::cli {

struct TraceCounts {
  std::size_t events = 0;
  std::size_t faults = 0;
  learning::TraceProblems problems;
};

// Tables of an evaluation.
[[nodiscard]] std::string render_hazard(const learning::HazardEvaluation& result, const TraceCounts& counts,
                                        const TableStyle& style);
// The evaluation as one JSON object. Shares are 0 to 1.
[[nodiscard]] std::string hazard_json(const learning::HazardEvaluation& result, const TraceCounts& counts);

}  // namespace autopilot::cli
