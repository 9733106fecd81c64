// SPDX-License-Identifier: Apache-2.0
// Behaves like a collective that waits for a dead partner: all threads poll one word of memory.
#pragma once

#include "probes/gpu/kernels/device.hpp"

namespace autopilot::probes::gpu::kernels {

// Ends after that many nanoseconds, or when `flag` is not zero.
AUTOPILOT_KERNEL spin(const uint64_t* flag, uint64_t nanoseconds) {
  const uint64_t begin = nanosecond_clock();
  while (nanosecond_clock() - begin < nanoseconds && __atomic_load_n(flag, __ATOMIC_RELAXED) == 0) {
  }
}

}  // namespace autopilot::probes::gpu::kernels
