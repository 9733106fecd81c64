// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

// Estimates with intervals of 95 %. Pure.
namespace autopilot::jobs {

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

// hits / trials with the Wilson interval. nullopt without a trial. Trials may be a fraction, as for F1.
[[nodiscard]] std::optional<Estimate> proportion(double hits, double trials);

// F1 = hits / (hits + (wrong + missed) / 2), as a proportion with that many trials.
[[nodiscard]] std::optional<Estimate> f1_of(double hits, double wrong, double missed);

// Events for each unit of exposure, with the exact Poisson interval. nullopt without exposure.
[[nodiscard]] std::optional<Estimate> rate(std::uint64_t events, double exposure);

// The p-quantile as the smallest value that p of the values do not exceed; for 0.5 the mean of both middle
// values. nullopt without values. Sorts them.
[[nodiscard]] std::optional<double> quantile(std::vector<double>& values, double p);

}  // namespace autopilot::jobs
