// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// A moment as a person writes it, all in UTC: a duration before `now` ("2h"), "now", a day ("2026-11-30",
// "today", "yesterday": its begin), a day with a clock time ("2026-11-30 03:00"), a clock time of today
// ("03:00"), or a time of format_time. `fallback` if the text is empty. malformed: names `option` and the
// text. Pure.
[[nodiscard]] Result<WallTime> parse_moment(const std::string& option, const std::string& text, WallTime now,
                                            WallTime fallback);

}  // namespace autopilot::cli
