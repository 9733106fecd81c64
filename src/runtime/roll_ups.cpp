// SPDX-License-Identifier: Apache-2.0
#include "runtime/roll_ups.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::runtime {

void RollUps::add(const std::string& check, const Observations& round) {
  for (const Observation& observation : round) {
    if (observation.is_event() || !observation.value) continue;
    const auto number = as_number(*observation.value);
    if (!number) continue;
    const WallTime hour = std::chrono::floor<std::chrono::hours>(observation.time.wall);
    Key key{hour, check, observation.subject, observation.name};
    auto found = open_.find(key);
    if (found == open_.end()) {
      if (open_.size() >= kMaxSeries) continue;
      found = open_
                  .emplace(std::move(key), store::RollUp{check, observation.subject, observation.name, hour,
                                                         *number, *number, 0, 0})
                  .first;
    }
    store::RollUp& roll_up = found->second;
    roll_up.min = std::min(roll_up.min, *number);
    roll_up.max = std::max(roll_up.max, *number);
    roll_up.sum += *number;
    ++roll_up.count;
  }
}

std::vector<store::RollUp> RollUps::take_finished(WallTime now) {
  const WallTime hour = std::chrono::floor<std::chrono::hours>(now);
  std::vector<store::RollUp> taken;
  while (!open_.empty() && open_.begin()->second.hour < hour)
    taken.push_back(std::move(open_.extract(open_.begin()).mapped()));
  return taken;
}

std::vector<store::RollUp> RollUps::take_all() {
  std::vector<store::RollUp> taken;
  taken.reserve(open_.size());
  for (auto& [key, roll_up] : open_)
    taken.push_back(std::move(roll_up));
  open_.clear();
  return taken;
}

}  // namespace autopilot::runtime
