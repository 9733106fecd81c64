// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/expectation.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "diagnostics/child/gpu_probe_helper.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::diagnostics {

// The deep diagnostic without DCGM: all tests of the GPU probe on all NVIDIA GPUs. The check of each test
// judges its result.

// The arguments after `--` on the command line of its helper (diagnostics/child/deep_test_helper.hpp).
[[nodiscard]] std::vector<std::string> own_deep_test_arguments(const config::Config& config);

// [--seconds S] [--memory-share F] [--kernels LEVEL] [--threshold ID=NUMBER]... and, for a simulated machine,
// --tree DIR --library FILE --cuda-library FILE. Prints measurements and findings to standard output. GPUs in
// use get no result.
[[nodiscard]] DeepTestSummary run_own_deep_test(const std::vector<std::string>& arguments, MonoTime until);

// The results of the GPU probe's tests in the form of a deep diagnostic. Pure.

// Test names of a deep diagnostic for the findings of a check.
struct DeepTestNames {
  std::string_view check;
  std::string_view wrong;  // for wrong results
  std::string_view slow;   // for low rates; empty: the check does not judge rates
};
// One for each of gpu_probe_tests(). No `slow` name contains a name that is fatal by default.
[[nodiscard]] std::span<const DeepTestNames> deep_test_names();

struct JudgedTest {
  std::string_view check;
  Findings findings;
};

// Runs the judge of the test's check. An error in `found` states why no GPU has a result.
[[nodiscard]] JudgedTest judge_probe_test(const GpuProbeTest& test, Result<Observations> found, Instant now,
                                          const catalog::Catalog& facts, const Expectation& expectation);

// The GPU computed a wrong result. Another user of the GPU cannot cause that.
[[nodiscard]] bool is_wrong_result(const Finding& finding);
// Discards all findings that another user of a GPU can cause.
void discount(const std::string& user, JudgedTest& test);

// A GPU counts as tested if every test has a result for it. `problem` states why others were not tested.
[[nodiscard]] DeepTestSummary deep_test_summary(std::span<const JudgedTest> tests,
                                                std::span<const host::GpuDevice> gpus);

}  // namespace autopilot::diagnostics
