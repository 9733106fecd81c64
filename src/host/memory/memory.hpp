// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// Errors of main memory that the hardware reported since the driver was loaded. A counter that cannot be read
// or parsed is an error with its file; other counters stay valid.
struct MemoryModule {
  std::string name;   // "dimm3", or "rank3" if the driver reports ranks only
  std::string label;  // the firmware's name of the slot: "CPU_SrcID#0_MC#0_Chan#1_DIMM#0"; may be empty
  Result<std::uint64_t> corrected = 0;
  Result<std::uint64_t> uncorrected = 0;
};

struct MemoryController {
  std::string name;                       // "mc0"
  Result<std::uint64_t> corrected = 0;    // of all modules, and errors of unknown modules
  Result<std::uint64_t> uncorrected = 0;  // likewise
  std::vector<MemoryModule> modules;
};

// /sys/devices/system/edac/mc, in order of name. Empty: the kernel has no EDAC driver for this machine. An
// error only if the controllers cannot be listed.
[[nodiscard]] Result<std::vector<MemoryController>> read_memory_controllers(const Files& files);

// /proc/meminfo.
struct MemoryUsage {
  std::uint64_t total_kilobytes = 0;
  std::uint64_t available_kilobytes = 0;
  // Pages that the kernel took out of use after an uncorrected error; missing without CONFIG_MEMORY_FAILURE.
  std::optional<std::uint64_t> corrupted_kilobytes;
};

// malformed: MemTotal or MemAvailable is missing, or a row is not a size in kB.
[[nodiscard]] Result<MemoryUsage> parse_meminfo(std::string_view text);

// Processes killed for lack of memory since boot, of the machine and of containers: `oom_kill` of
// /proc/vmstat. Missing before Linux 4.13.
[[nodiscard]] Result<std::optional<std::uint64_t>> parse_oom_kills(std::string_view vmstat);

// Shares of the last 10, 60 and 300 seconds, 0..1.
struct PressureShares {
  double avg10 = 0;
  double avg60 = 0;
  double avg300 = 0;
  std::optional<std::uint64_t> total_us{};  // since boot; missing: the row does not have it
};

// /proc/pressure/<resource>: the share of time in which some tasks, or all tasks at once, waited for the
// resource.
struct Pressure {
  PressureShares some;
  PressureShares full;  // 0 if the kernel does not report it (cpu before Linux 5.13)
};

[[nodiscard]] Result<Pressure> parse_pressure(std::string_view text);

}  // namespace autopilot::host
