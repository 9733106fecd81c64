// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "learning_detection.hpp"

namespace autopilot::learning::bench {

// A threshold learned from healthy nodes, and its findings on other healthy nodes. Scores are distances of
// Student's t with 6 degrees of freedom, autocorrelated, every 15 minutes.
struct BudgetResult {
  std::string_view method;  // of the threshold
  std::size_t scores = 0;   // learned from, for each seed
  double asked = 0;         // for each 1000 node-days
  std::uint64_t findings = 0;
  double node_days = 0;
  double per_1000_node_days = 0, low = 0, high = 0;
  std::size_t seeds = 0, within = 0;  // seeds whose own rate is within a factor of 1.5 of the budget
};
[[nodiscard]] std::vector<BudgetResult> run_budget(const Seeds& seeds);

}  // namespace autopilot::learning::bench
