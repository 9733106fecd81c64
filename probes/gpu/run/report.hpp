// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "probes/gpu/active_tests/measurement.hpp"
#include "probes/gpu/driver/gpu_facts.hpp"
#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

struct TestReport {
  std::string test;
  bool together = false;  // while the other GPUs did the same
  Measurement measured;
  std::optional<std::string> skipped;  // why the GPU cannot do it
};

struct SensorSample {
  double seconds = 0;     // since the first test began
  std::string_view test;  // that ran then; empty between two
  SensorValues values;
};

// Most samples that are kept of one GPU: ten minutes.
inline constexpr std::size_t kMostSensorSamples = 6000;

struct GpuReport {
  GpuFacts facts;
  std::optional<int> numa_node;
  std::string kernel_level;
  std::optional<std::string> refused_kernels;  // a higher level, and why the driver did not take it
  double load_seconds = 0;
  std::size_t free_bytes = 0;
  std::size_t budget_bytes = 0;
  std::size_t most_used_bytes = 0;  // that the tests so far had at one time
  std::vector<TestReport> tests;
  std::vector<SensorSample> sensors;
  std::optional<std::string> error;  // what ended its tests early, or why it had none
};

struct Report {
  WallTime began{};
  bool simulated = false;
  std::string driver_version;  // of CUDA that the driver speaks: "12.4"
  std::vector<GpuReport> gpus;
  std::optional<std::string> error;         // why no GPU was looked at
  std::optional<std::string> sensor_error;  // why nobody looked at sensors and other users
  bool stopped = false;                     // by a signal, before the end
};

// One line of JSON; docs/gpu-probe.md explains it.
[[nodiscard]] std::string to_json(const Report& report);
// Of a report that was not stopped.
[[nodiscard]] int exit_code_of(const Report& report);

}  // namespace autopilot::probes::gpu
