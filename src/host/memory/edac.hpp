// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// Errors of main memory that the hardware reported, since the driver was loaded. A counter that cannot be
// read or is no number is an error that names its file; it says nothing of the counters beside it.
struct MemoryModule {
  std::string name;   // "dimm3", or "rank3" where the driver knows ranks only
  std::string label;  // what the firmware calls the slot: "CPU_SrcID#0_MC#0_Chan#1_DIMM#0"; may be empty
  Result<std::uint64_t> corrected = 0;
  Result<std::uint64_t> uncorrected = 0;
};

struct MemoryController {
  std::string name;                       // "mc0"
  Result<std::uint64_t> corrected = 0;    // of all modules and those of no known module
  Result<std::uint64_t> uncorrected = 0;  // likewise
  std::vector<MemoryModule> modules;
};

// /sys/devices/system/edac/mc, in order of name. Empty: the kernel has no EDAC driver for this machine. An
// error only where the controllers cannot be listed.
[[nodiscard]] Result<std::vector<MemoryController>> read_memory_controllers(const Files& files);

}  // namespace autopilot::host
