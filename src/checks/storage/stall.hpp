// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/history.hpp"

namespace autopilot::checks {

// Observations that show a stall: requests finished since boot, and requests in flight.
inline constexpr std::string_view kBlockCompleted = "block.completed";
inline constexpr std::string_view kBlockInFlight = "block.in_flight";

// Time up to the last run in which every run found requests of this disk in flight and none finished.
[[nodiscard]] Duration stalled_for(const History& history, const Subject& disk);

}  // namespace autopilot::checks
