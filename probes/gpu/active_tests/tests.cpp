// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/active_tests/tests.hpp"

#include <array>

namespace autopilot::probes::gpu {

std::span<const GpuTest> gpu_tests() {
  static constexpr std::array kTests{
      GpuTest{"pcie", "copies between host and GPU", true, true, test_pcie},
      GpuTest{"hbm", "bandwidth of the GPU's memory", true, false, test_hbm},
      GpuTest{"gemm", "matrix products in f64 and bf16", true, false, test_gemm},
      GpuTest{"sdc", "silent data corruption, by multiprocessor", true, false, test_sdc},
      GpuTest{"memory", "patterns in the GPU's memory", false, false, test_memory},
      GpuTest{"power", "power draw: idle, waiting, busy", false, false, test_power},
      GpuTest{"p2p", "copies between GPUs", false, true, test_p2p},
  };
  return kTests;
}

}  // namespace autopilot::probes::gpu
