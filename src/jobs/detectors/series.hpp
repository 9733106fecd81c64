// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

// Robust statistics of short series. Values that are not finite do not count.
namespace autopilot::jobs {

// Median of the finite values; the mean of the middle two for an even number. nullopt if no value is finite.
// Changes the order of `values` and drops all others.
template <typename Real>
[[nodiscard]] std::optional<double> series_median(std::vector<Real>& values) {
  std::erase_if(values, [](Real value) { return !std::isfinite(value); });
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = static_cast<double>(*middle);
  if (values.size() % 2 == 1) return upper;
  return (upper + static_cast<double>(*std::max_element(values.begin(), middle))) / 2;
}

// 1.4826 times the median absolute deviation from `centre`: the standard deviation of normal values. 0 for
// equal values, nullopt if no value is finite. Changes `values`.
template <typename Real>
[[nodiscard]] std::optional<double> series_sigma(std::vector<Real>& values, double centre) {
  for (Real& value : values)
    value = static_cast<Real>(std::abs(static_cast<double>(value) - centre));
  const std::optional<double> deviation = series_median(values);
  if (!deviation) return std::nullopt;
  return 1.4826 * *deviation;
}

}  // namespace autopilot::jobs
