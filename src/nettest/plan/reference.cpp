// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace autopilot::nettest {
namespace {

// Between the upper quarter and the upper twentieth of healthy values lie 0.97 standard deviations; 1.06 if a
// quarter of all values is low, 1.21 if nearly half is.
constexpr double kUpperWidth = 0.97;
constexpr double kWindow = 2.5;          // standard deviations to each side of the centre
constexpr double kSeenInWindow = 0.955;  // share of the standard deviation that values within the window show
constexpr int kSteps = 6;

double at_share(std::span<const double> sorted, double share) {
  return sorted[static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

Usual usual_of(std::vector<double> values, double least_spread) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  double centre = at_share(values, 0.75);
  // Slightly low values would widen the window and so add more of them; the upper values do not.
  const double most = (at_share(values, 0.95) - centre) / kUpperWidth;
  double spread = std::max(most, least_spread * centre);
  for (int step = 0; step < kSteps; ++step) {
    const auto begin = std::ranges::lower_bound(values, centre - kWindow * spread);
    const auto end = std::ranges::upper_bound(values, centre + kWindow * spread);
    const double count = static_cast<double>(end - begin);
    if (count == 0) break;
    double sum = 0;
    double squares = 0;
    for (auto at = begin; at != end; ++at) {
      sum += *at - centre;
      squares += (*at - centre) * (*at - centre);
    }
    const double mean = sum / count;
    const double seen = std::sqrt(std::max(0.0, squares / count - mean * mean)) / kSeenInWindow;
    centre += mean;
    spread = std::max(std::min(seen, most), least_spread * centre);
  }
  return {centre, spread / centre, values.size()};
}

double median_of(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  const std::size_t half = sorted.size() / 2;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(half));
  if (sorted.size() % 2 == 1) return sorted[half];
  return (sorted[half] +
          *std::max_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(half))) /
         2;
}

double error_of_median(std::size_t samples) {
  if (samples <= 2) return 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(samples, 1)));
  return std::sqrt(std::numbers::pi / 2 / (static_cast<double>(samples) + std::numbers::pi / 2 - 1));
}

double quantile_of_normal(double probability) {
  double low = 0;
  double high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > probability ? low : high) = middle;
  }
  return high;
}

double tail_of_poisson(double expected, std::size_t least) {
  double term = std::exp(-expected);
  double below = 0;
  for (std::size_t i = 0; i < least; ++i) {
    below += term;
    term *= expected / static_cast<double>(i + 1);
  }
  return std::max(0.0, 1 - below);
}

}  // namespace autopilot::nettest
