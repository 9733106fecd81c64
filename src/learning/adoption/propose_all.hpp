// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "learning/adoption/version.hpp"
#include "learning/baseline/kind.hpp"
#include "learning/records.hpp"

// Everything that the records suggest. The same records and versions give the same proposals, in the same
// order.
namespace autopilot::learning {

// The threshold of the catalog that judges a metric: the metric is too low below `value` * `whole`.
struct MetricLimit {
  std::string threshold;  // id
  double value = 0;       // of the catalog
  double whole = 1;       // in the unit of the metric: the nominal rate, if the threshold is a share; above 0
  bool is_share = false;  // of the nominal rate, which no machine exceeds
};

struct LearnInput {
  std::vector<Measurement> measurements;  // of usable_measurements; a lower value is worse
  std::vector<Fault> faults;
  std::vector<Label> labels;
  std::vector<NodeJob> jobs;
  std::vector<Repair> repairs;
  std::set<std::string> probation;  // place_text of nodes
  std::vector<Version> versions;    // of the store
  // nullopt: no threshold judges the metric, or its value on this kind of machine is unknown. Not set: no
  // thresholds are learned.
  std::function<std::optional<MetricLimit>(std::string_view check, std::string_view metric,
                                           const MachineKind& kind)>
      limit_of;
  double findings_budget = 10;  // false findings for each 1000 node-days
  WallTime now{};               // of the newest record; proposals are created then
};

// A metric or threshold without a proposal, and why.
struct NotLearned {
  std::string subject;
  std::string why;
};

struct LearnOutcome {
  std::vector<Version> proposals;      // by kind, then by subject; without steps
  std::vector<NotLearned> refused;     // too few machines, two groups, too many healthy nodes that fail ...
  std::vector<std::string> unchanged;  // subjects whose version in use still fits
};

// 1. A baseline for each metric and kind of machine; it is refused if more than 1 % of the nodes that served
//    jobs well for a week would fail (try_canary), or if the median is above the nominal rate.
// 2. A least value for each threshold that judges such a metric, from the budget and from the measurements of
//    the places that pass the baseline; at most 98 % of their median; it is refused below
//    70 % of it.
// 3. The role of each check with labelled findings.
[[nodiscard]] LearnOutcome propose_all(const LearnInput& input);

}  // namespace autopilot::learning
