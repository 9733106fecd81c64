// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/clock.hpp"

// Figures of reports as people read them.
namespace autopilot::cli {

// "12.34" with that many digits after the point.
[[nodiscard]] std::string fixed_text(double number, int digits);
// 0.5 as "50.0 %"; "unknown" if not set.
[[nodiscard]] std::string percent_text(std::optional<double> share, int digits);
// "1 node", "2 nodes".
[[nodiscard]] std::string counted_text(std::size_t number, const std::string& noun);
// "45 s", "3.5 h", "12 d": of hours, of a size that people can read; "unknown" if not set.
[[nodiscard]] std::string hours_words(std::optional<double> hours);
// "2026-11-21 03:04" in UTC.
[[nodiscard]] std::string minute_text(WallTime time);

}  // namespace autopilot::cli
