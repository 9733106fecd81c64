// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/clock.hpp"

namespace autopilot::nettest {

// When this node makes its rounds: one in each turn of the wall clock, which are all of the same length and
// have the same number on all nodes. A node begins its rounds at a place in the turns of its own, a little
// early or late each time. The clock may be set: a turn that was passed over is not made up for, and one that
// comes again by less than the length of two is not made again. Pure.
class PingTurns {
 public:
  // place: in [0, 1), that of this node.
  explicit PingTurns(double place) : place_(place) {}

  [[nodiscard]] static std::uint64_t number_at(WallTime now, Duration length);
  // No round was made in the turn that it is.
  [[nodiscard]] bool is_open(WallTime now, Duration length) const;
  void note_round(WallTime now, Duration length);
  // To the beginning of the next round: in this turn where it is open, also where its place has passed.
  // jitter: in [0, 1).
  [[nodiscard]] Duration until_next(WallTime now, Duration length, double jitter) const;

 private:
  struct Turn {
    std::int64_t number = 0;
    Duration length{};
  };

  [[nodiscard]] static Turn turn_at(WallTime now, Duration length);
  [[nodiscard]] bool is_new(const Turn& turn) const;

  double place_;
  std::optional<Turn> last_;  // in which a round was made
};

}  // namespace autopilot::nettest
