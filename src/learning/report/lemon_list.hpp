// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "learning/hazard/return_policy.hpp"
#include "learning/report/report_records.hpp"

namespace autopilot::learning {

// A node with a fault in the last kFaultDays.
struct LemonRow {
  std::string node;        // node_key
  std::size_t faults = 0;  // in the last kFaultDays; faults that overlap count once
  std::optional<WallTime> last_return;
  std::optional<WallTime> probation_until;  // nullopt: not on probation
  // The first that is not done; it can be overdue. nullopt: none, or the return is kRecheckDays ago.
  std::optional<WallTime> next_recheck;
  NodePlan plan;
  [[nodiscard]] bool is_restricted() const;  // a lemon, on probation, or with a re-check
};

struct LemonList {
  static constexpr double kFaultDays = 90;
  static constexpr double kRecheckDays = 14;
  // Older faults and days do not count: the score has a half-life of 28 days.
  static constexpr double kMostDays = 365;

  std::size_t nodes = 0;    // with a record
  std::size_t faults = 0;   // that count
  double days = 0;          // of history that counts
  double rate_of_kind = 0;  // faults per day of a node
  bool knows_jobs = true;   // false: no fault names a job, and a lemon needs none
  std::size_t budget = 0;   // lemons that can get no job at once
  // Lemons first, then by probability, the highest first, then by name.
  std::vector<LemonRow> rows;
};

// Weight of the prior of the rate of the kind: faults, at kPriorFaultsPerDay. Few nodes are not their own
// reference.
inline constexpr double kPriorFaultsOfKind = 5;
// First half of the StepFun trace: 313 faults of 400 servers in 174 days (docs/learning.md).
inline constexpr double kPriorFaultsPerDay = 313.0 / (400 * 174);

// The nodes as of `until`. All nodes count as one kind. `records` are joined (join_records).
// exhausted: one of the limits of make_fleet_history.
[[nodiscard]] Result<LemonList> lemon_list(const ReportRecords& records, WallTime until);

}  // namespace autopilot::learning
