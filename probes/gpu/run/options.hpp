// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "probes/gpu/driver/driver.hpp"
#include "probes/gpu/nccl/run_all_reduce.hpp"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

struct Options {
  std::vector<std::string> tests;  // known names, in the order of execution
  std::vector<std::string> gpus;   // as given; empty: all
  double seconds = 0.4;            // of each test
  double memory_share = 0.1;       // of the memory of a GPU
  std::string kernels;             // the highest level of kernels; empty: any
  double patience_seconds = 30;    // for one call of the driver
  std::string library = kDriverLibrary;
  std::string sensor_library = kSensorLibrary;
  bool beside_others = false;  // also test GPUs in use
};

// The options of the tests or of the subcommand, or the exit code of a program that has printed why it ends.
[[nodiscard]] std::variant<Options, AllReduceOptions, int> parse_options(int argc, const char* const* argv);

}  // namespace autopilot::probes::gpu
