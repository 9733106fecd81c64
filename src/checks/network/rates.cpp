// SPDX-License-Identifier: Apache-2.0
#include "checks/network/rates.hpp"

#include <algorithm>
#include <chrono>

namespace autopilot::checks {
namespace {

Duration unit_of(const Limit& limit) {
  if (limit.unit == "per_second") return std::chrono::seconds{1};
  if (limit.unit == "per_minute") return std::chrono::minutes{1};
  if (limit.unit == "per_hour") return std::chrono::hours{1};
  return Duration::zero();
}

}  // namespace

std::optional<double> growth_above(const JudgeInput& input, const Subject& subject, std::string_view counter,
                                   const Limit& limit, Duration window) {
  const auto growth = input.history.growth(subject, counter, input.now, window);
  if (!growth) return std::nullopt;
  const Duration unit = unit_of(limit);
  if (unit == Duration::zero())
    return growth->delta > limit.value ? std::optional(growth->delta) : std::nullopt;
  const Duration over = std::max({growth->interval, unit, Duration(std::chrono::minutes{1})});
  const double rate = growth->delta * (to_seconds(unit) / to_seconds(over));
  return rate > limit.value ? std::optional(rate) : std::nullopt;
}

}  // namespace autopilot::checks
