// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "learning/hazard/episodes.hpp"

namespace autopilot::learning {

// When a node is a lemon.
struct LemonRule {
  double prior_faults = 0.5;    // shape of the prior; its mean is the rate of the kind
  double half_life_days = 28;   // of the weight of faults and of days in service
  double ratio = 4;             // times the rate of the kind
  double probability = 0.9;     // that the rate of the node is above the ratio
  std::size_t fewest_jobs = 2;  // distinct jobs that its faults hit; 0: jobs are unknown
};

// Posterior of the rate of faults of a node: a gamma distribution.
struct LemonScore {
  double faults_per_day = 0;  // mean
  double probability = 0;     // that the rate is above `ratio` times the rate of the kind
};

// Weight of an episode in the score: hardware, network and unknown 1, software 0.5, no fault found -0.25,
// application 0.
[[nodiscard]] double lemon_weight(const Episode& episode);

// From the episodes that begin, and the days in service, until `day`. `rate_of_kind` is greater than 0, in
// faults per day.
[[nodiscard]] LemonScore lemon_score(const NodeHistory& node, double day, double rate_of_kind,
                                     const LemonRule& rule = {});
// Of a node without a fault.
[[nodiscard]] LemonScore lemon_score_without_fault(double day, double rate_of_kind,
                                                   const LemonRule& rule = {});

// Distinct jobs that episodes until `day` hit.
[[nodiscard]] std::size_t jobs_hit(const NodeHistory& node, double day);

[[nodiscard]] bool is_lemon(const LemonScore& score, std::size_t jobs, const LemonRule& rule = {});

}  // namespace autopilot::learning
