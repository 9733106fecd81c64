// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "learning/hazard/episodes.hpp"
#include "learning/hazard/node_draws.hpp"

namespace autopilot::learning {

// Faults within a window after the last return to service of the same node, against the time that nodes spend
// there.
struct ReturnWindow {
  double days = 0;
  std::size_t episodes = 0;  // that begin in the judged time
  std::size_t inside = 0;    // of them, within the window
  double service_days = 0;   // of all nodes in the judged time
  double window_days = 0;    // of them, within a window
  BootstrapInterval lift;    // share of episodes / share of days; 0 without an episode or a return
};

// Judges `from_day` to `to_day`; a return before `from_day` opens a window as well.
[[nodiscard]] ReturnWindow return_window(const FleetHistory& fleet, double days, double from_day,
                                         double to_day, std::size_t draws, std::uint64_t seed);

}  // namespace autopilot::learning
