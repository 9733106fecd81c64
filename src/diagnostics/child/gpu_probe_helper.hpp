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
// autopilot-gpu-probe in the process group of the helper on the named GPUs; on all GPUs if none is named.
// Does not run if a process uses one of the GPUs; an incomplete result is discarded if a process uses one of
// them afterwards. --tree: a simulated machine, whose cuda.yaml the CUDA library reads. Lines on standard
// output as in child_line.hpp; a reader that closes the pipe ends the helper and all its children. Exit code
// 0: measured; kChildInUse; 1: no result, the reason is on standard error; 64: usage. Waits for the probe
// without a deadline of its own: the caller sets one.
[[nodiscard]] int run_gpu_probe(const std::vector<std::string>& arguments);

// Path of the probe, in the folder of this program. not_found: the file does not exist.
[[nodiscard]] Result<std::string> gpu_probe_program();
// The environment of this process without variables that change which GPUs the probe sees, or how it sees
// them compared with jobs.
[[nodiscard]] std::vector<std::string> gpu_probe_environment();

// How the probe is started.
struct GpuProbeRun {
  std::string_view tests;           // "pcie,hbm"
  std::vector<std::string> limits;  // further arguments: "--seconds", "5"
  SimulatedMachine simulated;
  bool joins_group = false;  // see Command
};

// Returns a few seconds after `until` at the latest, even if the driver hangs. unavailable: the probe left no
// report, with the reason. If the probe could read no GPU, the report contains that error.
[[nodiscard]] Result<host::GpuProbeReport> probe_gpus(const GpuProbeRun& run,
                                                      std::span<const host::GpuDevice> gpus, MonoTime until);

// The measurements of the GPU probe, as observations for the checks that judge them. Pure.

// A diagnostic that the probe runs.
struct GpuProbeTest {
  std::string_view check;  // the check that judges it: "gpu.pcie_bandwidth"
  std::string_view title;
  std::string_view tests;   // of the probe: "pcie,hbm"
  bool takes_memory_share;  // of the configuration, and not the probe's own
};

// All diagnostics of the probe.
[[nodiscard]] std::span<const GpuProbeTest> gpu_probe_tests();
// Null: the probe has no such diagnostic.
[[nodiscard]] const GpuProbeTest* find_gpu_probe_test(std::string_view check);

// Names begin with the name of the check, without "gpu.". Of the host `outcome`: measured, or no_peers if the
// test needs several GPUs and there is one. Of each GPU: the measured values (median, GB/s of 10^9 bytes,
// TFLOP/s), `gpu.model`, `wrong` (number of wrong results, with the first places), `disputed` (the same for
// results that one kernel of the probe got wrong and another one right; absent if there are none), and each
// missing value with the reason as `error`. unavailable: no GPU has a result, with the reason.
[[nodiscard]] Result<Observations> gpu_probe_observations(const GpuProbeTest& test,
                                                          const host::GpuProbeReport& report,
                                                          std::span<const host::GpuDevice> gpus);
// The diagnostic did not run, or its result is discarded: `by` uses a GPU.
[[nodiscard]] Observations gpu_probe_in_use(const GpuProbeTest& test, const std::string& by);

}  // namespace autopilot::diagnostics
