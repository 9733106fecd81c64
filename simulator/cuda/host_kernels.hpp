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
  void** arguments;  // one for each parameter of the kernel; addresses of the GPU are those of the host
};

// A kernel of the probe as the host runs it: the same source for those whose threads do not cooperate, the
// definition of the product for the others. What a multiprocessor computes wrongly is in what the kernel
// leaves behind.
struct HostKernel {
  std::string_view name;
  bool repeatable;  // doing it again on the same memory changes nothing
  void (*run)(const Launch& launch);
  double (*seconds)(const Launch& launch);  // that the simulated GPU takes
  // The values of the arguments, to tell two launches apart.
  std::vector<std::uint64_t> (*values)(void** arguments);
  unsigned shared_bytes = 0;  // that a launch must ask for
};

// Null: there is none of that name.
[[nodiscard]] const HostKernel* find_kernel(std::string_view name);

}  // namespace autopilot::simulator::cuda
