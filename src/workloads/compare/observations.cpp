// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/observations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace autopilot::workloads::compare {
namespace {

constexpr double kBurst_percent = 5;
constexpr double kBurstOfMedian = 3;
constexpr double kLoaded_s = 60;
constexpr std::size_t kFewestOfEffect = 10;
constexpr double kWarm = 0.8;
constexpr double kDayOfClock_s = 86'400;

// Seconds from the first reading of `to` to that of `from`, by the shorter path around the clock. A 12-hour
// clock that lost its meridiem states half a day.
std::optional<double> clock_offset(const Series& from, const Series& to) {
  if (!from.clock_s || !to.clock_s || from.seconds.empty() || to.seconds.empty()) return std::nullopt;
  const auto is_repaired = [](const Gap& gap) { return gap.is_repaired; };
  const bool is_half = std::any_of(from.gaps.begin(), from.gaps.end(), is_repaired) ||
                       std::any_of(to.gaps.begin(), to.gaps.end(), is_repaired);
  return std::remainder(*from.clock_s - *to.clock_s, is_half ? kDayOfClock_s / 2 : kDayOfClock_s);
}

double mean_between(const Series& series, std::size_t first, std::size_t last) {
  const auto begin = series.values.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = series.values.begin() + static_cast<std::ptrdiff_t>(last + 1);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(last - first + 1);
}

std::size_t length_of(const Burst& burst) {
  return burst.last - burst.first + 1;
}

// Readings of the used GPUs of one file that are all at 0 %.
std::vector<std::size_t> idle_positions(const std::vector<const Series*>& gpus) {
  std::size_t readings = gpus.front()->values.size();
  for (const Series* gpu : gpus)
    readings = std::min(readings, gpu->values.size());
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < readings; ++i)
    if (std::all_of(gpus.begin(), gpus.end(), [i](const Series* gpu) { return gpu->values[i] == 0; }))
      idle.push_back(i);
  return idle;
}

// GPUs of several files whose first readings are an interval or more apart do not share positions.
bool share_positions(const std::vector<const Series*>& gpus) {
  return std::all_of(gpus.begin(), gpus.end(), [&gpus](const Series* gpu) {
    const auto offset = clock_offset(*gpu, *gpus.front());
    return !offset || std::abs(*offset) < gpus.front()->interval_s.value_or(0);
  });
}

bool is_beside(const std::vector<Burst>& bursts, std::size_t position) {
  return std::any_of(bursts.begin(), bursts.end(), [position](const Burst& burst) {
    return position + 1 >= burst.first && position <= burst.last + 1;
  });
}

}  // namespace

JoinedReadings::JoinedReadings(const Series& from, const Series& to)
    : from_(from), to_(to), offset_s_(clock_offset(from, to)) {}

std::optional<std::size_t> JoinedReadings::position_of(std::size_t reading) const {
  if (!offset_s_) return reading;
  const double at = from_.seconds[reading] + *offset_s_;
  const auto& times = to_.seconds;
  auto after = std::lower_bound(times.begin(), times.end(), at);
  if (after == times.end() || (after != times.begin() && at - *(after - 1) < *after - at)) --after;
  const bool is_near = std::abs(*after - at) <= to_.interval_s.value_or(0);
  return is_near ? std::optional(static_cast<std::size_t>(after - times.begin())) : std::nullopt;
}

bool JoinedReadings::has_overlap() const {
  for (std::size_t i = 0; offset_s_ && i < from_.seconds.size(); ++i)
    if (position_of(i)) return true;
  return !offset_s_;
}

std::vector<Burst> bursts_of(const Series& user) {
  const auto statistics = statistics_of(user.values);
  if (!statistics) return {};
  const double limit = std::max(kBurst_percent, kBurstOfMedian * statistics->median);
  std::vector<Burst> bursts;
  for (std::size_t i = 0; i < user.values.size(); ++i) {
    if (user.values[i] <= limit) continue;
    if (bursts.empty() || bursts.back().last + 1 != i)
      bursts.push_back({i, i, 0});
    else
      bursts.back().last = i;
  }
  for (Burst& burst : bursts)
    burst.mean = mean_between(user, burst.first, burst.last);
  return bursts;
}

std::optional<Burst> loaded_window(const Series& user) {
  const auto bursts = bursts_of(user);
  if (bursts.empty() || !user.interval_s) return std::nullopt;
  std::size_t all = 0;
  Burst longest = bursts.front();
  for (const Burst& burst : bursts) {
    all += length_of(burst);
    if (length_of(burst) > length_of(longest)) longest = burst;
  }
  const bool is_long = static_cast<double>(length_of(longest)) * *user.interval_s >= kLoaded_s;
  return is_long && 2 * length_of(longest) > all ? std::optional(longest) : std::nullopt;
}

std::optional<LoadEffect> effect_of_load(const Series& user, const Burst& window, const Series& gpu) {
  if (gpu.interval_s != user.interval_s || gpu.values.size() < window.last + 1 + kFewestOfEffect)
    return std::nullopt;
  const auto offset = clock_offset(gpu, user);
  if (offset && std::abs(*offset) >= user.interval_s.value_or(0)) return std::nullopt;
  const double warm = kWarm * statistics_of(gpu.values)->median;
  LoadEffect effect;
  effect.first = window.first;
  const auto reached =
      std::find_if(gpu.values.begin(), gpu.values.end(), [warm](double value) { return value >= warm; });
  effect.first = std::max(effect.first, static_cast<std::size_t>(reached - gpu.values.begin()));
  if (effect.first + kFewestOfEffect > window.last + 1) return std::nullopt;
  effect.inside = mean_between(gpu, effect.first, window.last);
  effect.after = mean_between(gpu, window.last + 1, gpu.values.size() - 1);
  return effect.after > 0 ? std::optional(effect) : std::nullopt;
}

std::optional<Starvation> starvation_of(const Side& side) {
  const auto gpus = used_gpus_of(side);
  const Series* user = main_series(side, "cpu.user", "");
  if (gpus.empty() || user == nullptr || !user->interval_s || gpus.front()->interval_s != user->interval_s)
    return std::nullopt;
  const JoinedReadings joined(*gpus.front(), *user);
  if (!share_positions(gpus) || !joined.has_overlap()) return std::nullopt;
  const auto bursts = bursts_of(*user);
  Starvation found;
  for (std::size_t i = 0; i < gpus.front()->values.size(); ++i)
    found.readings += joined.position_of(i) ? 1 : 0;
  for (const std::size_t position : idle_positions(gpus)) {
    const auto of_user = joined.position_of(position);
    if (!of_user) continue;
    ++found.idle_readings;
    found.beside_bursts += is_beside(bursts, *of_user) ? 1 : 0;
  }
  found.idle_s = static_cast<double>(found.idle_readings) * *user->interval_s;
  found.user = user;
  return found;
}

}  // namespace autopilot::workloads::compare
