// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/driver/driver.hpp"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

// Documented in docs/gpu-probe.md.
enum ExitCode : int {
  exit_measured = 0,
  exit_wrong = 2,         // a wrong result; takes precedence over exit_not_measured
  exit_not_measured = 3,  // no driver, no such GPU, or a GPU whose tests did not finish
  exit_usage = 64,
  exit_signal = 128,  // plus the number of the signal
};

struct TestReport {
  std::string test;
  bool together = false;  // while the other GPUs ran the same test
  Measurement measured;
  std::optional<std::string> skipped;  // why the GPU does not support the test
};

struct SensorSample {
  double seconds = 0;     // since the first test began
  std::string_view test;  // running at that time; empty between two tests
  SensorValues values;
};

// Limit of samples of one GPU: ten minutes.
inline constexpr std::size_t kMostSensorSamples = 6000;

struct GpuReport {
  GpuFacts facts;
  std::optional<int> numa_node;
  std::string kernel_level;
  std::optional<std::string> refused_kernels;  // a higher level, and why the driver refused it
  double load_seconds = 0;
  std::size_t free_bytes = 0;
  std::size_t budget_bytes = 0;
  std::size_t most_used_bytes = 0;  // highest usage of the tests so far
  std::vector<TestReport> tests;
  std::vector<SensorSample> sensors;
  std::optional<std::string> error;  // the error that ended its tests early, or prevented them
};

struct Report {
  WallTime began{};
  bool simulated = false;
  std::string driver_version;  // CUDA version of the driver: "12.4"
  std::vector<GpuReport> gpus;
  std::optional<std::string> error;         // why no GPU was tested
  std::optional<std::string> sensor_error;  // why sensors and other users are unknown
  bool stopped = false;                     // by a signal, before the end
};

// One line of JSON; see docs/gpu-probe.md.
[[nodiscard]] std::string to_json(const Report& report);
// For a report that was not stopped.
[[nodiscard]] int exit_code_of(const Report& report);

}  // namespace autopilot::probes::gpu
