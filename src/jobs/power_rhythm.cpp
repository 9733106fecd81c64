// SPDX-License-Identifier: Apache-2.0
#include "jobs/power_rhythm.hpp"

#include <algorithm>
#include <cmath>

#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

std::int64_t second_of(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

double fold_period(double period_s, double usual_s) {
  double nearest = period_s;
  for (const double factor : {1.0, 0.5, 2.0, 1.0 / 3, 3.0, 0.25, 4.0})
    if (std::abs(std::log(period_s * factor / usual_s)) < std::abs(std::log(nearest / usual_s)))
      nearest = period_s * factor;
  return nearest;
}

void PowerRhythm::start() {
  *this = PowerRhythm{};
}

void PowerRhythm::add(WallTime time, const FastPower& power) {
  const std::int64_t last = second_of(time);
  for (std::size_t at = 0; at < power.power_w.size(); ++at) {
    const std::int64_t number = last - static_cast<std::int64_t>(power.power_w.size() - 1 - at);
    if (number < 0 || (next_ && number < *next_)) continue;
    Second& second = seconds_[static_cast<std::size_t>(number) % kSeconds];
    if (second.number > number) continue;
    if (second.number < number) second = {number, {}};
    if (second.values.size() < kMaxNodes) second.values.push_back(power.power_w[at]);
  }
}

std::optional<Rhythm> PowerRhythm::evaluate(WallTime until) {
  const std::int64_t end = second_of(until);
  const auto oldest = end - static_cast<std::int64_t>(kSeconds);
  for (std::int64_t number = std::max(next_.value_or(oldest), oldest); number < end; ++number) {
    Second& second = seconds_[static_cast<std::size_t>(number) % kSeconds];
    const auto median = second.number == number ? series_median(second.values) : std::nullopt;
    tracker_.add(median ? static_cast<float>(*median) : kMissing);
  }
  next_ = end;
  return tracker_.evaluate();
}

}  // namespace autopilot::jobs
