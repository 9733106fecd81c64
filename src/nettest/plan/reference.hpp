// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace autopilot::nettest {

// Usual value of a set that consists mostly of healthy values, where faults only lower values.
struct Usual {
  double centre = 0;
  double spread = 0;  // standard deviation of a healthy value, as a share of the centre
  std::size_t count = 0;
};

// Estimates from the upper part of positive values: two thirds can be low. An empty set gives zeros. The
// spread is at least `least_spread`.
[[nodiscard]] Usual usual_of(std::vector<double> values, double least_spread);

[[nodiscard]] double median_of(std::span<const double> values);

// Standard error of the median of that many samples, each with standard error 1.
[[nodiscard]] double error_of_median(std::size_t samples);

// Number of standard deviations below the mean that a healthy value exceeds, except with that probability.
[[nodiscard]] double quantile_of_normal(double probability);

// The probability of at least `least` events if `expected` are expected.
[[nodiscard]] double tail_of_poisson(double expected, std::size_t least);

}  // namespace autopilot::nettest
