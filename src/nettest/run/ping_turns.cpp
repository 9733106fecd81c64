// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/ping_turns.hpp"

#include <algorithm>
#include <chrono>

namespace autopilot::nettest {
namespace {

// Of a turn: all places, and what a round may be later than its own. The rest is for a round to end.
constexpr double kPlaces = 0.8;
constexpr double kJitter = 0.1;

}  // namespace

PingTurns::Turn PingTurns::turn_at(WallTime now, Duration length) {
  const Duration since = now.time_since_epoch();
  const bool is_partial = since < Duration{0} && since % length != Duration{0};
  return {since / length - (is_partial ? 1 : 0), length};
}

std::uint64_t PingTurns::number_at(WallTime now, Duration length) {
  return static_cast<std::uint64_t>(turn_at(now, length).number);
}

// A clock that was set back by more says that the numbers of before were wrong.
bool PingTurns::is_new(const Turn& turn) const {
  return !last_ || last_->length != turn.length || turn.number > last_->number ||
         turn.number < last_->number - 1;
}

bool PingTurns::is_open(WallTime now, Duration length) const {
  return is_new(turn_at(now, length));
}

void PingTurns::note_round(WallTime now, Duration length) {
  last_ = turn_at(now, length);
}

Duration PingTurns::until_next(WallTime now, Duration length, double jitter) const {
  const Turn turn = turn_at(now, length);
  const auto next = last_ && !is_new(turn) ? last_->number + 1 : turn.number;
  const auto place = std::chrono::duration_cast<Duration>(length * (kPlaces * place_ + kJitter * jitter));
  return std::max(Duration{0}, next * length + place - now.time_since_epoch());
}

}  // namespace autopilot::nettest
