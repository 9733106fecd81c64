// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace autopilot::alerts {

inline constexpr std::string_view kSignatureHeader = "X-Autopilot-Signature";

// "t=1767225630,v1=5257a8...": seconds since 1970, and HMAC-SHA256 with that key, in lower-case hexadecimal
// digits, of the seconds, a dot and the body. A receiver refuses a time that is more than five minutes away
// from its own, so that a recorded request cannot be sent again later.
[[nodiscard]] std::string sign(std::string_view key, WallTime now, std::string_view body);

}  // namespace autopilot::alerts
