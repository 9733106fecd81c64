// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Exact intervals of counts and shares, and the distributions behind them. Exact up to 1e-9 unless stated.
namespace autopilot {

struct Interval {
  double low = 0;
  double high = 0;
};

// Regularised upper incomplete gamma function Q(shape, x): the probability that a gamma variable of this
// shape and rate 1 is greater than x. Absolute error below 1e-12 for shapes of 1e-3 to 1e4.
// NaN unless shape > 0 and x >= 0.
[[nodiscard]] double upper_gamma(double shape, double x);

// Bounds of 95 % (two-sided) of the expected number of events after `events` were counted. Above 1000 events
// the approximation of Wilson and Hilferty, which errs by less than 0.1 %.
[[nodiscard]] Interval poisson_bounds(std::uint64_t events);

// Probability that a share is below `x` (0..1) after `hits` and `misses` were counted, both plus their prior;
// both above 0.
[[nodiscard]] double beta_below(double hits, double misses, double x);
// The share that lies above with probability 1 - p; 0 < p < 1.
[[nodiscard]] double beta_quantile(double hits, double misses, double p);

}  // namespace autopilot
