// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda/driver_table.hpp"

namespace autopilot::simulator::cuda {

struct Launch {
  const GpuTable& gpu;
  unsigned blocks;
  unsigned threads;
  void** arguments;  // one for each parameter of the kernel; GPU addresses are host addresses
};

// A kernel of the probe as the host runs it: from the same source if its threads do not cooperate, otherwise
// from the definition of the product. The output includes the errors of faulty multiprocessors.
struct HostKernel {
  std::string_view name;
  bool repeatable;  // a second run on the same memory changes nothing
  void (*run)(const Launch& launch);
  double (*seconds)(const Launch& launch);  // simulated duration on the GPU
  // The values of the arguments, to compare two launches.
  std::vector<std::uint64_t> (*values)(void** arguments);
  unsigned shared_bytes = 0;  // required by a launch
};

// Null: unknown name.
[[nodiscard]] const HostKernel* find_kernel(std::string_view name);

}  // namespace autopilot::simulator::cuda
