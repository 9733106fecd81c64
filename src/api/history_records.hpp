// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/records.hpp"

// The lines of docs/reference/history.md. Pure.
namespace autopilot::api {

// Bytes without the line end.
inline constexpr std::size_t kLongestHistoryLine = std::size_t{4} << 20;

// Parses one line, without its line end. malformed: the text names the member's path and the problem, such as
// "checks[1].health: 'bad' is not a valid value". Accepts what learning::check accepts.
[[nodiscard]] Result<learning::HistoryRecord> parse_history_line(std::string_view line);

// One line with its line end, which parse_history_line reads as the same record if learning::check accepts
// the record. What is unknown is left out.
[[nodiscard]] std::string to_history_line(const learning::HistoryRecord& record);

// RFC 3339 in UTC, with milliseconds, or with nanoseconds if the time has them.
[[nodiscard]] std::string format_exact_time(WallTime time);

}  // namespace autopilot::api
