// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/peers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace autopilot::jobs {

namespace {

constexpr std::size_t kLeastPeers = 4;
constexpr double kGroupShare = 0.2;
// From the median absolute deviation to the standard deviation of a normal distribution.
constexpr float kMadToSigma = 1.4826F;
constexpr std::size_t kHostsOfGroupEvent = 3;

// `values` is not empty, and is reordered.
float take_median(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5F * *middle + 0.5F * *std::max_element(values.begin(), middle);
}

// The better of the two middle values: of two members that differ, the worse one is the hit.
float take_nominal(std::vector<float>& values, Worse worse) {
  const std::size_t position = worse == Worse::low ? values.size() / 2 : (values.size() - 1) / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Keeps the finite values in the scratch; returns the worst of them.
float keep_known(std::span<const float> values, Worse worse, std::vector<float>& known) {
  known.resize(values.size());
  std::size_t count = 0;
  float lowest = std::numeric_limits<float>::infinity();
  float highest = -lowest;
  for (const float value : values) {
    known[count] = value;
    const bool is_known = std::abs(value) <= std::numeric_limits<float>::max();  // false for NaN
    count += is_known ? 1 : 0;
    lowest = is_known && value < lowest ? value : lowest;
    highest = is_known && value > highest ? value : highest;
  }
  known.resize(count);
  return worse == Worse::low ? lowest : highest;
}

// The difference from the median beyond which a value is a hit.
float margin_of(const PeerRule& rule, float median, float spread) {
  return std::max(rule.z * spread, rule.shortfall * std::max(std::abs(median), rule.floor_absolute));
}

std::size_t distinct(std::vector<std::uint32_t>& hosts) {
  std::ranges::sort(hosts);
  const auto repeated = std::ranges::unique(hosts);
  return hosts.size() - repeated.size();
}

bool exceeds_share(std::size_t count, std::size_t all) {
  return static_cast<double>(count) > std::max(1.0, kGroupShare * static_cast<double>(all));
}

bool is_group_event(std::span<const float> values, std::span<const std::uint32_t> hosts, PeerScratch& scratch,
                    const PeerComparison& found) {
  if (!exceeds_share(found.hits.size(), found.known)) return false;
  if (hosts.size() != values.size()) return true;
  scratch.hosts.clear();
  for (std::size_t at = 0; at < values.size(); ++at)
    if (std::isfinite(values[at])) scratch.hosts.push_back(hosts[at]);
  const std::size_t all = distinct(scratch.hosts);
  if (all < kHostsOfGroupEvent) return true;
  scratch.hosts.clear();
  for (const Outlier& hit : found.hits)
    scratch.hosts.push_back(hosts[hit.member]);
  return exceeds_share(distinct(scratch.hosts), all);
}

}  // namespace

float per_minute(float count, float seconds) {
  return seconds > 0 ? count * 60.0F / seconds : std::numeric_limits<float>::quiet_NaN();
}

void find_outliers(std::span<const float> values, std::span<const std::uint32_t> hosts, const PeerRule& rule,
                   PeerScratch& scratch, PeerComparison& result) {
  result.hits.clear();
  result.is_group_event = false;
  result.median = result.threshold = std::numeric_limits<float>::quiet_NaN();
  std::vector<float>& known = scratch.values;
  const float worst = keep_known(values, rule.worse, known);
  result.known = static_cast<std::uint32_t>(known.size());
  if (known.empty()) return;
  const bool is_exact = rule.comparison == Comparison::exact;
  result.median = is_exact ? take_nominal(known, rule.worse) : take_median(known);
  if (known.size() < (is_exact ? 2 : kLeastPeers)) return;

  const float sign = rule.worse == Worse::low ? -1.0F : 1.0F;
  float spread = std::max(rule.floor_relative * std::abs(result.median), rule.floor_absolute);
  float margin = is_exact ? spread : margin_of(rule, result.median, spread);
  // The spread is at least its floor, so most groups end here, without the cost of the MAD.
  if (!(sign * (worst - result.median) > margin)) return;
  if (!is_exact) {
    for (float& value : known)
      value = std::abs(value - result.median);
    spread = std::max(spread, kMadToSigma * take_median(known));
    margin = margin_of(rule, result.median, spread);
  }
  const float base = std::max(std::abs(result.median), rule.floor_absolute);
  for (std::size_t at = 0; at < values.size(); ++at) {
    const float worse_by = sign * (values[at] - result.median);
    if (!(worse_by > margin) || !std::isfinite(values[at])) continue;
    const float z = is_exact ? rule.z : worse_by / spread;
    result.hits.push_back({static_cast<std::uint32_t>(at), values[at], z, worse_by / base});
  }
  if (result.hits.empty()) return;
  result.threshold = result.median + sign * margin;
  result.is_group_event = is_group_event(values, hosts, scratch, result);
}

PeerComparison find_outliers(std::span<const float> values, const PeerRule& rule) {
  PeerScratch scratch;
  PeerComparison result;
  find_outliers(values, {}, rule, scratch, result);
  return result;
}

bool HitHistory::add(Minute minute, const HistoryRule& rule) {
  if (minute == Minute::unknown) {
    if (unknown_ < 32) ++unknown_;
    if (unknown_ >= rule.m) hits_ = known_ = 0;
    return deviates_;
  }
  unknown_ = 0;
  if (known_ < 32) ++known_;
  hits_ = hits_ << 1 | (minute == Minute::hit ? 1U : 0U);
  const std::uint32_t mask = rule.m >= 32 ? ~0U : (1U << rule.m) - 1U;
  const int hits = std::popcount(hits_ & mask);
  if (hits >= rule.k) {
    deviates_ = true;
  } else if (known_ >= rule.m && hits <= rule.clear) {
    deviates_ = false;
  }
  return deviates_;
}

}  // namespace autopilot::jobs
