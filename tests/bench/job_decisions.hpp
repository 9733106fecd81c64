// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// What decisions about slow jobs cost: jobs::decide() beside simple rules and a clairvoyant.
namespace autopilot::jobs::bench {

struct DecisionPlan {
  std::size_t trials = 20'000;
  // Findings state a probability of their culprit from this to 1, and are right as often.
  double least_probability = 0.6;
  std::uint64_t seed = 1;
};

// Goodput lost to one fault, in hours of the job, added up over all trials.
struct PolicyCost {
  std::string_view name;
  double lost_hours = 0;
  std::size_t stops = 0, false_stops = 0;  // swaps and stops; of these, for a culprit that was none
};

struct DecisionCosts {
  std::vector<PolicyCost> policies;  // first "never", last "clairvoyant"
  // (lost by the policy - lost by the clairvoyant) / lost by never acting.
  [[nodiscard]] double regret(std::string_view name) const;
};

// Each trial: a job of 8 to 4,096 GPUs in which a node becomes slower by 2 to 50 %, or seems to: the named
// culprit is the right one with the probability that the finding states. The job is interrupted by other
// failures at the rate of the policy, which excludes the node at no cost; so does the end of the job.
// Policies decide when the finding is raised and each 30 minutes after it. The clairvoyant knows whether the
// culprit is right and when the next failure comes, and acts when the finding is raised. Equal seeds give
// equal costs.
[[nodiscard]] DecisionCosts run_decisions(const DecisionPlan& plan);

}  // namespace autopilot::jobs::bench
