// SPDX-License-Identifier: Apache-2.0
#include "jobs/node_silence.hpp"

#include <iterator>
#include <utility>

namespace autopilot::jobs {

NodeSilence::Heard NodeSilence::hear(std::string_view node) {
  auto found = nodes_.find(node);
  if (found == nodes_.end()) {
    if (nodes_.size() >= limit_) return Heard::refused;
    nodes_.try_emplace(std::string(node));
    return Heard::known;
  }
  found->second.was_heard = true;
  const bool was_lost = std::exchange(found->second.is_lost, false);
  return was_lost ? Heard::back : Heard::known;
}

void NodeSilence::advance(WallTime now, const std::function<bool(const std::string& node)>& has_job,
                          std::vector<std::string>& lost) {
  const Duration step = now_ ? now - *now_ : Duration{0};
  const Duration pause = step > kLongestStep ? step : Duration{0};
  now_ = now;
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    auto& [name, state] = *node;
    state.last_heard += pause;
    if (std::exchange(state.was_heard, false)) state.last_heard = now;
    const Duration silence = now - state.last_heard;
    const bool is_needed = silence > kLostAfter && has_job(name);
    if (is_needed && !state.is_lost) {
      state.is_lost = true;
      lost.push_back(name);
    }
    node = silence > kForgetAfter && !is_needed ? nodes_.erase(node) : std::next(node);
  }
}

bool NodeSilence::is_lost(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.is_lost;
}

}  // namespace autopilot::jobs
