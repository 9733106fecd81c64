// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/history.hpp"

namespace autopilot::checks {

// Names of the two observations that tell of a stall: requests finished since boot, and those in flight.
inline constexpr std::string_view kBlockCompleted = "block.completed";
inline constexpr std::string_view kBlockInFlight = "block.in_flight";

// For how long, up to the last look, requests of this disk were in flight at every look and none finished.
[[nodiscard]] Duration stalled_for(const History& history, const Subject& disk);

}  // namespace autopilot::checks
