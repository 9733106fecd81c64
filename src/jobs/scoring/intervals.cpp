// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace autopilot::jobs {
namespace {

constexpr double kZ = 1.959963984540054;  // the normal quantile of 97.5 %
constexpr double kTail = 0.025;
// Above it the approximation of Wilson and Hilferty is right to four digits.
constexpr std::uint64_t kMostExactEvents = 200;

// P(X <= events) of a Poisson distribution.
double probability_at_most(std::uint64_t events, double mean) {
  double term = std::exp(-mean);
  double sum = term;
  for (std::uint64_t k = 1; k <= events; ++k) {
    term *= mean / static_cast<double>(k);
    sum += term;
  }
  return sum;
}

// The mean for which P(X <= events) is `probability`.
double mean_for(std::uint64_t events, double probability) {
  const double spread = 10 * std::sqrt(static_cast<double>(events) + 1);
  double low = 0;
  double high = static_cast<double>(events) + spread;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (probability_at_most(events, middle) > probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double approximate_mean(double shape, double z) {
  const double root = 1 - 1 / (9 * shape) + z / (3 * std::sqrt(shape));
  return shape * root * root * root;
}

double lowest_mean(std::uint64_t events) {
  if (events == 0) return 0;
  if (events <= kMostExactEvents) return mean_for(events - 1, 1 - kTail);
  return approximate_mean(static_cast<double>(events), -kZ);
}

double highest_mean(std::uint64_t events) {
  if (events <= kMostExactEvents) return mean_for(events, kTail);
  return approximate_mean(static_cast<double>(events) + 1, kZ);
}

}  // namespace

std::optional<Estimate> proportion(double hits, double trials) {
  if (!(trials > 0)) return std::nullopt;
  const double share = std::clamp(hits / trials, 0.0, 1.0);
  const double scale = 1 + kZ * kZ / trials;
  const double centre = (share + kZ * kZ / (2 * trials)) / scale;
  const double half = kZ * std::sqrt(share * (1 - share) / trials + kZ * kZ / (4 * trials * trials)) / scale;
  return Estimate{share, std::max(0.0, std::min(share, centre - half)),
                  std::min(1.0, std::max(share, centre + half))};
}

std::optional<Estimate> f1_of(double hits, double wrong, double missed) {
  return proportion(hits, hits + (wrong + missed) / 2);
}

std::optional<Estimate> rate(std::uint64_t events, double exposure) {
  if (!(exposure > 0) || !std::isfinite(exposure)) return std::nullopt;
  return Estimate{static_cast<double>(events) / exposure, lowest_mean(events) / exposure,
                  highest_mean(events) / exposure};
}

std::optional<double> quantile(std::vector<double>& values, double p) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t count = values.size();
  if (p == 0.5) return (values[(count - 1) / 2] + values[count / 2]) / 2;
  const double rank = std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(count));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace autopilot::jobs
