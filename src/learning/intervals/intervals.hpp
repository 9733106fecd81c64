// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Intervals of counts and shares, and the Beta distribution. Exact up to 1e-9 unless stated.
namespace autopilot::learning {

struct Interval {
  double low = 0;
  double high = 0;
};

// Bounds of 95 % (two-sided, exact) of the expected number of events after `events` were counted. Without an
// event the low bound is 0 and the high bound is that of one side: 3.0 (rule of three). Above 1000 events the
// approximation of Wilson and Hilferty, which errs by less than 0.1 %.
[[nodiscard]] Interval poisson_bounds(std::uint64_t events);

// Probability that a share is below `x` (0..1) after `hits` and `misses` were counted, both plus their prior;
// both above 0.
[[nodiscard]] double beta_below(double hits, double misses, double x);
// The share that lies above with probability 1 - p; 0 < p < 1.
[[nodiscard]] double beta_quantile(double hits, double misses, double p);

// Upper bound of 95 % of a share of which `trials` trials had no event: 3 / trials, at most 1.
[[nodiscard]] double rule_of_three(std::uint64_t trials);

}  // namespace autopilot::learning
