// SPDX-License-Identifier: Apache-2.0
#include "runtime/seen_resets.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "checks/kernel_log/reset_evidence.hpp"
#include "core/parse.hpp"

namespace autopilot::runtime {

// "<boot id> <address>=<nanoseconds> ..."
SeenResets::SeenResets(std::string boot_id, std::string_view journaled) : boot_id_(std::move(boot_id)) {
  if (!journaled.starts_with(boot_id_ + " ")) return;
  journaled.remove_prefix(boot_id_.size() + 1);
  while (!journaled.empty()) {
    const auto end = std::min(journaled.find(' '), journaled.size());
    const std::string_view word = journaled.substr(0, end);
    const auto equals = std::min(word.find('='), word.size());
    const auto time = parse_number<std::int64_t>(word.substr(std::min(equals + 1, word.size())));
    if (time && equals > 0) times_[std::string(word.substr(0, equals))] = MonoTime{Duration{*time}};
    journaled.remove_prefix(std::min(end + 1, journaled.size()));
  }
}

std::string SeenResets::to_text() const {
  std::string text = boot_id_;
  for (const auto& [address, time] : times_)
    text.append(" ").append(address).append("=").append(std::to_string(time.time_since_epoch().count()));
  return text;
}

Observations SeenResets::events(Instant now) const {
  Observations events;
  for (const auto& [address, time] : times_) {
    Subject gpu;
    gpu.kind = SubjectKind::gpu;
    gpu.key = address;
    events.push_back(checks::seen_reset(gpu, {now.wall - (now.mono - time), time}));
  }
  return events;
}

}  // namespace autopilot::runtime
