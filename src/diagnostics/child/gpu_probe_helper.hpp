// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/probe_reports.hpp"

namespace autopilot::diagnostics {

// `autopilot helper gpu_probe CHECK [--seconds S]
// [--memory-share F] [--kernels LEVEL] [--tree DIR --library FILE --cuda-library FILE] [SUBJECT...]`. Runs
// autopilot-gpu-probe in the process group of the helper on the GPUs that are named, on all where none is,
// unless a process is on one of them before or, where something could not be measured, afterwards. --tree: a
// machine that does not exist, whose cuda.yaml the CUDA library reads. Lines on standard output as in
// child_line.hpp; who reads none any more ends it and all it started. Exit code 0: measured; kChildInUse; 1:
// nothing can be said of the GPUs, why is on standard error; 64: usage. It waits as long as the probe takes:
// a deadline is that of who started it.
[[nodiscard]] int run_gpu_probe(const std::vector<std::string>& arguments);

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

// What the GPU probe measured, as observations for the checks that judge it. Pure.

// An active test that the probe makes.
struct GpuProbeTest {
  std::string_view check;  // that judges it: "gpu.pcie_bandwidth"
  std::string_view title;
  std::string_view tests;   // of the probe: "pcie,hbm"
  bool takes_memory_share;  // of the configuration, and not the probe's own
};

// THE list.
[[nodiscard]] std::span<const GpuProbeTest> gpu_probe_tests();
// Null: the probe makes no such test.
[[nodiscard]] const GpuProbeTest* find_gpu_probe_test(std::string_view check);

// Names begin with that of the check, without "gpu.". Of the host `outcome`: measured, or no_peers where only
// several GPUs can be tested. Of each GPU what was measured (median, GB/s of 10^9 bytes, TFLOP/s),
// `gpu.model`, `wrong` (how many results were not the right one, with the first places), `disputed` (the same
// of what one kernel of the probe got wrong and another one right; absent where there is none), and what
// could not be measured, with the reason as `error`. unavailable: why the report says nothing of any GPU.
[[nodiscard]] Result<Observations> gpu_probe_observations(const GpuProbeTest& test,
                                                          const host::GpuProbeReport& report,
                                                          std::span<const host::GpuDevice> gpus);
// The test was not made, or counts for nothing: `by` uses a GPU.
[[nodiscard]] Observations gpu_probe_in_use(const GpuProbeTest& test, const std::string& by);

}  // namespace autopilot::diagnostics
