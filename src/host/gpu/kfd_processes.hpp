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

inline constexpr std::size_t kMostKfdProcesses = 4096;  // looked at

struct KfdProcesses {
  // Process numbers in order, by PCI address. Every GPU that the driver tells of has an entry.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> by_gpu;
  // Those of them that are divided (compute partitions): the driver says so, or tells of several parts.
  std::set<std::string, std::less<>> divided;
  bool some_denied = false;  // it tells this process of a part of its GPUs only (device control group)
  bool some_untold = false;  // it does not tell of a process what it holds, or there are too many
};

// Who holds memory or queues of AMD's GPUs in order to compute on them, as their kernel driver (KFD) lists
// it. Programs that only draw are not among them. A process that has ended may be for a moment. An error
// where there is no such driver.
[[nodiscard]] Result<KfdProcesses> read_kfd_processes(const Files& files);

}  // namespace autopilot::host
