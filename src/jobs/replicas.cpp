// SPDX-License-Identifier: Apache-2.0
#include "jobs/replicas.hpp"

#include <algorithm>
#include <bit>

namespace autopilot::jobs {
namespace {

constexpr std::size_t kMaxValuesOfAMinute = 64;
constexpr std::uint16_t kMinutes = 0x3ff;
constexpr int kSlowMinutes = 8;
constexpr std::size_t kMinCompared = 3;

float median_of(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Replicas::add(const ServingRecord& record) {
  if (replicas_.size() >= kMax && !replicas_.contains(record.replica)) return;
  Replica& replica = replicas_[record.replica];
  if (replica.last_record && record.time < *replica.last_record) return;
  const double requests = record.running + record.waiting;
  // The clock of a replica starts with its requests: an idle time before them is not a stall.
  if (record.tokens_s.value_or(0) > 0 || (requests > 0 && replica.requests == 0 && replica.last_token))
    replica.last_token = record.time;
  replica.last_record = record.time;
  replica.requests = requests;
  if (requests > 0 && record.per_token_s && *record.per_token_s > 0 &&
      replica.per_token.size() < kMaxValuesOfAMinute)
    replica.per_token.push_back(static_cast<float>(*record.per_token_s));
}

std::vector<Replicas::Hung> Replicas::hung(WallTime now) const {
  std::vector<Hung> found;
  for (const auto& [name, replica] : replicas_) {
    if (!replica.last_token || !replica.last_record || replica.requests <= 0) continue;
    if (now - *replica.last_record > std::chrono::minutes(1) || now - *replica.last_token < kHungAfter)
      continue;
    found.push_back({name, *replica.last_token, replica.requests});
  }
  return found;
}

std::vector<Replicas::Slow> Replicas::end_minute() {
  std::vector<float> medians;
  for (const auto& [name, replica] : replicas_)
    if (!replica.per_token.empty()) medians.push_back(median_of(replica.per_token));
  std::vector<Slow> found;
  const bool is_comparable = medians.size() >= kMinCompared;
  const double typical = is_comparable ? static_cast<double>(median_of(medians)) : 0;
  for (auto& [name, replica] : replicas_) {
    if (replica.per_token.empty()) continue;
    const double own = static_cast<double>(median_of(replica.per_token));
    replica.per_token.clear();
    if (!is_comparable) continue;
    const bool is_slow = own > kSlowRatio * typical;
    replica.slow_minutes =
        static_cast<std::uint16_t>(((replica.slow_minutes << 1) | (is_slow ? 1 : 0)) & kMinutes);
    if (is_slow && std::popcount(replica.slow_minutes) >= kSlowMinutes)
      found.push_back({name, own / typical, own, typical});
  }
  return found;
}

}  // namespace autopilot::jobs
