// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/intervals.hpp"

namespace autopilot::jobs {
namespace {

constexpr double kZ = 1.959963984540054;  // the normal quantile of 97.5 %

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
  const Interval mean = poisson_bounds(events);
  return Estimate{static_cast<double>(events) / exposure, mean.low / exposure, mean.high / exposure};
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
