// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "host/gpu/probe_reports.hpp"

namespace autopilot::diagnostics {

// The program beside this one. not_found: it is not there.
[[nodiscard]] Result<std::string> gpu_probe_program();
// The environment of this process without what would show that program other GPUs than the driver lists, or
// in another way than jobs see them.
[[nodiscard]] std::vector<std::string> gpu_probe_environment();

// What that program is started with.
struct GpuProbeRun {
  std::string_view tests;           // "pcie,hbm"
  std::vector<std::string> limits;  // further arguments: "--seconds", "5"
  SimulatedMachine simulated;
  bool joins_group = false;  // see Command
};

// Not later than a few seconds after `until`, whatever the driver does. unavailable: it left no report, and
// why; that no GPU could be looked at stands in the report.
[[nodiscard]] Result<host::GpuProbeReport> probe_gpus(const GpuProbeRun& run,
                                                      std::span<const host::GpuDevice> gpus, MonoTime until);

}  // namespace autopilot::diagnostics
