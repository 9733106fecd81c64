// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace autopilot::fleet {

// What is usual among values of which most are of healthy ones and faults only lower them.
struct Usual {
  double centre = 0;
  double spread = 0;  // standard deviation of a healthy one, as a share of the centre
  std::size_t count = 0;
};

// From the upper part of positive values: two thirds may be low. Nothing of no values gives zeros. At least
// `least_spread` is taken for the spread.
[[nodiscard]] Usual usual_of(std::vector<double> values, double least_spread);

[[nodiscard]] double median_of(std::span<const double> values);

// What the middle of so many samples errs by, where one errs by 1.
[[nodiscard]] double error_of_median(std::size_t samples);

// How many standard deviations a healthy value stays above with that probability of going below.
[[nodiscard]] double quantile_of_normal(double probability);

// The probability of at least `least` events where so many are expected.
[[nodiscard]] double tail_of_poisson(double expected, std::size_t least);

}  // namespace autopilot::fleet
