// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "learning/hazard/fault_events.hpp"

namespace autopilot::api {

// Limits of a fault trace.
inline constexpr std::size_t kLargestTrace = std::size_t{64} << 20U;  // bytes
inline constexpr std::size_t kMostTraceEvents = 200'000;
inline constexpr std::size_t kLongestTraceText = 256;  // bytes of one text
inline constexpr double kLatestTraceDay = 36'500;      // a century

// Reads the format of the public StepFun trace (docs/learning.md): a list of {"node_id", "event_time" in
// days, "event_type": "fault_start" or "fault_end", "fault_type": {"Level", "Class", "Desc"}}. malformed: not
// this format, with the index of the entry from 0. exhausted: one of the limits.
[[nodiscard]] Result<std::vector<learning::FaultEvent>> parse_fault_trace(std::string_view text);

}  // namespace autopilot::api
