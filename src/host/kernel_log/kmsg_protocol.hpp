// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/kernel_log/record_source.hpp"

namespace autopilot::host {

// What agent and `autopilot helper kmsg` say to each other, inside the frames of host/helpers.

// null -> {"witness":"/dev/kmsg"}. denied, unavailable: the log. Once for each connection, first.
inline constexpr std::string_view kOpenKernelLog = "open";
// {"patienceMs":10000} -> {"records":[...]}: those that follow; none after that long without any.
inline constexpr std::string_view kNextRecords = "next";

[[nodiscard]] std::string encode_witness(std::string_view witness);
[[nodiscard]] Result<std::string> parse_witness(std::string_view answer);

[[nodiscard]] std::string encode_patience(std::chrono::milliseconds patience);
[[nodiscard]] Result<std::chrono::milliseconds> parse_patience(std::string_view params);

// Texts must be UTF-8. Takes records from `begin` on while the answer fits into a frame for sure; moves
// `begin` behind the last one taken.
[[nodiscard]] std::string encode_records(const std::vector<SourcedRecord>& records, std::size_t& begin);
// malformed: too many, a text too long or not UTF-8, a number out of range, a member missing.
[[nodiscard]] Result<std::vector<SourcedRecord>> parse_records(std::string_view answer);

}  // namespace autopilot::host
