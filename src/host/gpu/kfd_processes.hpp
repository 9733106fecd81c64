// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

inline constexpr std::size_t kMostKfdProcesses = 4096;  // processes that are examined

struct KfdProcesses {
  // Process ids in ascending order, by PCI address. Every GPU that the driver lists has an entry.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> by_gpu;
  // PCI addresses of partitioned GPUs (compute partitions): the driver reports a partition mode or lists
  // several parts.
  std::set<std::string, std::less<>> divided;
  bool some_denied = false;  // the device cgroup hides some GPUs from this process
  bool some_untold = false;  // the GPUs of some process are unknown, or there are more than kMostKfdProcesses
};

// Processes that hold compute memory or queues of AMD's GPUs, as the kernel driver (KFD) lists them.
// Graphics-only programs are not listed; a process that has just ended may be. An error if there is no such
// driver.
[[nodiscard]] Result<KfdProcesses> read_kfd_processes(const Files& files);

}  // namespace autopilot::host
