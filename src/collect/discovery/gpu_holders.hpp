// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::collect {

// Which processes are on which GPUs, according to the driver.
struct GpuHolders {
  std::map<std::int64_t, std::set<int>> by_pid;           // indexes of GPUs
  std::map<std::string, int, std::less<>> index_of_uuid;  // "GPU-..."
  std::vector<std::string> not_seen;                      // why processes may be missing
};

// Reads the groups identity and processes. A driver that does not answer is stated in not_seen; a machine
// without a GPU has no holders. The driver names at most 32 processes of a GPU. Returns by the deadline.
[[nodiscard]] GpuHolders read_gpu_holders(const host::Gpus& gpus, MonoTime deadline);

}  // namespace autopilot::collect
