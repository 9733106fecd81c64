// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/tests/tests.hpp"

#include <array>

namespace autopilot::probes::gpu {

std::span<const GpuTest> gpu_tests() {
  static constexpr std::array kTests{
      GpuTest{"pcie", "copies between host and GPU", true, true, test_pcie},
      GpuTest{"hbm", "bandwidth of the GPU's memory", true, false, test_hbm},
  };
  return kTests;
}

}  // namespace autopilot::probes::gpu
