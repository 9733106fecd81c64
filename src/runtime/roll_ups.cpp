// SPDX-License-Identifier: Apache-2.0
#include "runtime/roll_ups.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::runtime {

// Nothing: there are too many.
RollUps::Numbers* RollUps::numbers_of(OfCheck& series, const Observation& observation, double number) {
  const auto known = series.find(SeriesView(observation.subject, observation.name));
  if (known != series.end()) return &known->second;
  if (series_ >= kMaxSeries) return nullptr;
  ++series_;
  SeriesKey key{observation.subject.kind, observation.subject.key, observation.name};
  return &series.emplace(std::move(key), Numbers{number, number, 0, 0}).first->second;
}

void RollUps::add(const std::string& check, const Observations& round) {
  for (const Observation& observation : round) {
    if (observation.is_event() || !observation.value) continue;
    const auto number = as_number(*observation.value);
    if (!number) continue;
    const WallTime hour = std::chrono::floor<std::chrono::hours>(observation.time.wall);
    Numbers* numbers = numbers_of(open_[hour][check], observation, *number);
    if (numbers == nullptr) continue;
    note_card(observation.subject);
    numbers->min = std::min(numbers->min, *number);
    numbers->max = std::max(numbers->max, *number);
    numbers->sum += *number;
    ++numbers->count;
  }
}

void RollUps::note_card(const Subject& subject) {
  if (subject.uuid.empty() && subject.serial.empty()) return;
  const auto known = cards_.find(subject);
  if (known != cards_.end() && known->uuid == subject.uuid && known->serial == subject.serial) return;
  if (known != cards_.end()) cards_.erase(known);
  cards_.insert(subject);
}

Subject RollUps::subject_of(const SeriesKey& key) const {
  Subject subject{key.kind, key.subject, std::nullopt, {}, {}};
  const auto card = cards_.find(subject);
  return card == cards_.end() ? subject : *card;
}

void RollUps::move_to(std::vector<store::RollUp>& taken, WallTime hour, const OfHour& checks) const {
  for (const auto& [check, series] : checks)
    for (const auto& [key, numbers] : series)
      taken.push_back(
          {check, subject_of(key), key.name, hour, numbers.min, numbers.max, numbers.sum, numbers.count});
}

std::vector<store::RollUp> RollUps::take_finished(WallTime now) {
  const WallTime hour = std::chrono::floor<std::chrono::hours>(now);
  std::vector<store::RollUp> taken;
  while (!open_.empty() && open_.begin()->first < hour) {
    move_to(taken, open_.begin()->first, open_.begin()->second);
    open_.erase(open_.begin());
  }
  series_ -= std::min(series_, taken.size());
  return taken;
}

std::vector<store::RollUp> RollUps::take_all() {
  std::vector<store::RollUp> taken;
  for (const auto& [hour, checks] : open_)
    move_to(taken, hour, checks);
  open_.clear();
  series_ = 0;
  return taken;
}

}  // namespace autopilot::runtime
