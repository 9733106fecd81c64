// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// One CPU socket.
struct ProcessorPackage {
  int id = 0;
  // Time in thermal throttling since boot; Intel only, since Linux 5.6.
  std::optional<Duration> throttled;
};

// /sys/devices/system/cpu. A processor is a hardware thread, on which the kernel schedules.
struct Processors {
  std::size_t online = 0;
  std::optional<std::size_t> present;
  // Simultaneous multithreading: on, off, forceoff, notsupported, notimplemented; empty: not reported.
  std::string smt;
  // Packages of online processors, by id.
  std::vector<ProcessorPackage> packages;
};

// An error if the list of online processors cannot be read.
[[nodiscard]] Result<Processors> read_processors(const Files& files);

// The first "model name" of /proc/cpuinfo; empty if there is none (Arm).
[[nodiscard]] Result<std::string> read_processor_model(const Files& files);

}  // namespace autopilot::host
