// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::probes::gpu {

// Whose GPUs, and so by whose libraries: CUDA and NCCL, or HIP and RCCL.
enum class Vendor : std::uint8_t { nvidia, amd };

}  // namespace autopilot::probes::gpu
