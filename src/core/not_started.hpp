// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace autopilot {

// How the message of a check begins that judges a diagnostic, if no diagnostic was started: "not started:
// autopilot test gpu.sdc". Its health is unsupported, but the machine may have the hardware.
inline constexpr std::string_view kNotStarted = "not started: ";

}  // namespace autopilot
