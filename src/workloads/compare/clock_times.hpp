// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "workloads/compare/series.hpp"

namespace autopilot::workloads::compare {

// Seconds of the day: "23:59:58", "11:59:58 PM". nullopt: not a time.
[[nodiscard]] std::optional<double> parse_clock(std::string_view text);

struct PlacedTimes {
  std::vector<double> seconds;  // since the first; never falls
  std::optional<double> interval_s;
  std::vector<Gap> gaps;
};

// Times of readings, in their order. Times of the day continue after midnight. A step that is 12 h longer
// than the usual one is a 12-hour clock that lost its meridiem: the step becomes the usual one, and the gap
// is marked as repaired. A time that falls otherwise counts as the one before it.
[[nodiscard]] PlacedTimes place_times(const std::vector<double>& times, bool is_time_of_day);

}  // namespace autopilot::workloads::compare
