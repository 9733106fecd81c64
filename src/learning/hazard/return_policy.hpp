// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "learning/hazard/episodes.hpp"
#include "learning/hazard/hazard_model.hpp"
#include "learning/hazard/lemon.hpp"

namespace autopilot::learning {

// What a node is allowed after a return to service, and when it is tested again.
struct ReturnPolicy {
  double probation_days = 3;
  int largest_job_gpus = 64;                  // on probation
  std::vector<double> recheck_days = {1, 3};  // quick re-checks, after the return; in order
  LemonRule lemon;
};

struct Recheck {
  double due_day = 0;
  std::string because;  // one sentence
};

struct NodePlan {
  std::string node;
  bool is_in_service = true;
  std::optional<double> probation_until_day;  // nullopt: not on probation
  std::vector<Recheck> rechecks;  // not done yet, in order; an overdue re-check has a day in the past
  bool is_lemon = false;
  LemonScore lemon;
  std::optional<int> largest_job_gpus;  // nullopt: no limit; 0: no job
  std::vector<std::string> reasons;     // one sentence for each restriction
};

// The plan of a node on `day`, from its episodes until then. `last_check_day`: the last validation that it
// passed; a re-check that was due until then is done. A node whose fault is open has no plan but that.
// `rate_of_kind`: faults per day of this kind of node, greater than 0.
[[nodiscard]] NodePlan plan_return(const NodeHistory& node, double day, std::optional<double> last_check_day,
                                   double rate_of_kind, const ReturnPolicy& policy = {});

// Lemons that a fleet takes out of service at once: 1.5 % of its nodes, rounded down, but one from 20 nodes
// on.
[[nodiscard]] std::size_t lemon_budget(std::size_t nodes);

// Advises to hold the lemons within the budget, the worst first. A lemon beyond the budget has the limit of a
// probation, and the reason states it. This advice replaces that of a probation. A lemon that is not in
// service does not use the budget up.
void apply_lemon_budget(std::vector<NodePlan>& plans, std::size_t nodes, const ReturnPolicy& policy = {});

// Days until the hazard after the first return of a node is below 10 times `rate_of_kind`, at most 3 days.
[[nodiscard]] double learned_probation_days(const HazardModel& model, double rate_of_kind);

}  // namespace autopilot::learning
