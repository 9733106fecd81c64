// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "learning_detection.hpp"

namespace autopilot::learning::bench {

// What a policy of diagnostics costs a simulated fleet, in GPU-hours.
struct PolicyCost {
  std::string policy;  // "never", "always full", "weekly full", "selector", "selector x2" ...
  std::size_t faults = 0, escaped = 0;
  double diagnostics = 0;      // time of GPUs in diagnostics
  double losses = 0;           // of jobs, by escaped faults
  double false_positives = 0;  // of healthy nodes that failed
  [[nodiscard]] double total() const { return diagnostics + losses + false_positives; }
};

// 400 nodes of 8 GPUs for 360 days; each day the nodes in service run jobs of 1 to 64 nodes. Hazard for each
// node-day: 0.002 * (1 + 40 * exp(-days since return / 3)) * (1, 1.5, 2, 2.5, 3 for 0 to 4 faults in 90
// days); a node is out of service for 1 to 10 days. All policies meet the same faults; the diagnostics before
// a job find a fault of the coming day with their recall. The selector knows the hazard. "selector xF" weighs
// losses by F, so that fewer faults escape at a higher cost.
[[nodiscard]] std::vector<PolicyCost> run_selection(const Seeds& seeds);

}  // namespace autopilot::learning::bench
