// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <exception>
#include <iostream>

#include "probes/gpu/nccl/run_all_reduce.hpp"
#include "probes/gpu/run/options.hpp"
#include "probes/gpu/run/run.hpp"

int main(int argc, char** argv) {
  using namespace autopilot::probes::gpu;
  constexpr int kInternal = 70;
  // Set before the driver starts: it must not write compiled kernels to a home directory, and results must
  // not depend on an earlier run.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  try {
    const auto options = parse_options(argc, argv);
    if (const int* code = std::get_if<int>(&options)) return *code;
    if (const auto* all_reduce = std::get_if<AllReduceOptions>(&options)) return run_all_reduce(*all_reduce);
    return run(std::get<Options>(options));
  } catch (const std::exception& error) {
    std::cerr << "autopilot-gpu-probe: internal error: " << error.what() << "\n";
    return kInternal;
  }
}
