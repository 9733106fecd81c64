// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"

namespace autopilot::cli {

// "45s", "12m", "3h", "5d": one unit, rounded down. "0s" for a time in the future.
[[nodiscard]] std::string age_of(WallTime then, WallTime now);

}  // namespace autopilot::cli
