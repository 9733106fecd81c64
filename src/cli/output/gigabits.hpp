// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::cli {

// Gbit/s with three digits or more, for a rate in bits/s: 9.41, 24.5, 3004.
[[nodiscard]] std::string gigabits(double rate);

}  // namespace autopilot::cli
