// SPDX-License-Identifier: Apache-2.0

#include "kube/pacing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace autopilot::kube {

Duration BackOff::fail(const BackOffTimes& times, double dice, std::optional<Duration> retry_after) {
  // Infinite after many failures; then the longest wait applies.
  const double grown = static_cast<double>(times.first.count()) * std::pow(times.factor, failures_);
  const double base = std::min(grown, static_cast<double>(times.last.count()));
  const Duration asked = std::clamp(retry_after.value_or(Duration{0}), Duration{0}, kLongestRetryAfter);
  const double least = std::max(base, static_cast<double>(asked.count()));
  if (failures_ < std::numeric_limits<std::uint32_t>::max()) ++failures_;
  // Rounded up: never shorter than requested.
  return Duration{static_cast<Duration::rep>(std::ceil(least * (1.0 + times.jitter * dice)))};
}

bool TokenBucket::take(MonoTime now) {
  if (next(now) > now) return false;
  paid_ = std::max(paid_, now) + spacing_;
  return true;
}

MonoTime TokenBucket::next(MonoTime now) const {
  return std::max(now, paid_ - credit_);
}

std::function<double()> dice() {
  return [random = std::mt19937_64(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(random);
  };
}

}  // namespace autopilot::kube
