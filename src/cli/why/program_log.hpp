// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "why/evidence.hpp"

namespace autopilot::cli {

// The newest part of a log that is read.
inline constexpr std::size_t kMostProgramLog = std::size_t{4} << 20;

// Limits that the last lines of a program's log show: open files, locked memory, processes, stack, shared
// memory. One piece of evidence for each limit, with the line; it has no time. Pure.
[[nodiscard]] std::vector<why::Evidence> evidence_in_log(std::string_view log, const why::Target& target);

// The last kMostProgramLog bytes of the file. not_found, denied, unavailable: names the file.
[[nodiscard]] Result<std::string> read_program_log(const std::string& path);

}  // namespace autopilot::cli
