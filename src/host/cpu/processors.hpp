// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// What sits in one socket.
struct ProcessorPackage {
  int id = 0;
  // How long it has slowed itself down because of heat since boot; only Intel's, since Linux 5.6.
  std::optional<Duration> throttled;
};

// /sys/devices/system/cpu. A processor is what the kernel schedules on: a hardware thread.
struct Processors {
  std::size_t online = 0;
  std::optional<std::size_t> present;
  // Simultaneous multithreading: on, off, forceoff, notsupported, notimplemented; empty where it is not told.
  std::string smt;
  // Of those online, by id.
  std::vector<ProcessorPackage> packages;
};

// Fails where nobody can say which are online.
[[nodiscard]] Result<Processors> read_processors(const Files& files);

// The first "model name" of /proc/cpuinfo; empty where there is none (Arm).
[[nodiscard]] Result<std::string> read_processor_model(const Files& files);

}  // namespace autopilot::host
