// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::probes::gpu {

// Vendor of the GPUs, which selects the libraries: CUDA and NCCL, or HIP and RCCL.
enum class Vendor : std::uint8_t { nvidia, amd };

}  // namespace autopilot::probes::gpu
