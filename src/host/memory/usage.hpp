// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::host {

// /proc/meminfo.
struct MemoryUsage {
  std::uint64_t total_kilobytes = 0;
  std::uint64_t available_kilobytes = 0;
  // Pages the kernel took out of use after an uncorrected error; nothing where it cannot
  // (CONFIG_MEMORY_FAILURE).
  std::optional<std::uint64_t> corrupted_kilobytes;
};

// malformed: MemTotal or MemAvailable is missing, or a row that is read is no number of kilobytes.
[[nodiscard]] Result<MemoryUsage> parse_meminfo(std::string_view text);

// Processes killed for lack of memory since boot, of the machine and of containers alike: `oom_kill` of
// /proc/vmstat. Nothing before Linux 4.13.
[[nodiscard]] Result<std::optional<std::uint64_t>> parse_oom_kills(std::string_view vmstat);

// Shares of the last 10, 60 and 300 seconds, 0..1.
struct PressureShares {
  double avg10 = 0;
  double avg60 = 0;
  double avg300 = 0;
};

// /proc/pressure/<resource>: how long somebody, or everybody at once, waited for it.
struct Pressure {
  PressureShares some;
  PressureShares full;  // zero where the kernel does not count it (cpu before Linux 5.13)
};

[[nodiscard]] Result<Pressure> parse_pressure(std::string_view text);

}  // namespace autopilot::host
