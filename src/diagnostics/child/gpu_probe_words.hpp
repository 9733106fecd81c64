// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/observation.hpp"
#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/gpu/probe_reports.hpp"

// What the GPU probe measured, as observations for the checks that judge it. Pure.
namespace autopilot::diagnostics {

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
