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

// The deep test without DCGM: all tests of the GPU probe on all GPUs of NVIDIA, judged by the checks that
// judge each of them elsewhere.

// What follows `--` on the command line of its helper (host/operations/deep_test_helper.hpp).
[[nodiscard]] std::vector<std::string> own_deep_test_arguments(const config::Config& config);

// [--seconds S] [--memory-share F] [--kernels LEVEL] [--threshold ID=NUMBER]... and, of a machine that does
// not exist, --tree DIR --library FILE --cuda-library FILE. Tells on standard output what was measured and
// found. Where GPUs are in use nothing is said of them.
[[nodiscard]] DeepTestSummary run_own_deep_test(const std::vector<std::string>& arguments, MonoTime until);

// What tests of the GPU probe say together, as a deep test says it. Pure.

// What a deep test calls that which a check finds.
struct DeepTestNames {
  std::string_view check;
  std::string_view wrong;  // results were not the only right ones
  std::string_view slow;   // empty: the check judges no speed
};
// One for each of host::gpu_probe_tests(). None that is slow has part of a name that is fatal by default.
[[nodiscard]] std::span<const DeepTestNames> deep_test_names();

struct JudgedTest {
  std::string_view check;
  Findings findings;
};

// By the check that judges that test elsewhere. An error: nothing is known of any GPU, and why.
[[nodiscard]] JudgedTest judge_probe_test(const GpuProbeTest& test, Result<Observations> found, Instant now,
                                          const catalog::Catalog& facts, const Expectation& expectation);

// A result was not the only right one, which no neighbour explains.
[[nodiscard]] bool is_wrong_result(const Finding& finding);
// All that somebody who uses a GPU explains counts for nothing.
void discount(const std::string& user, JudgedTest& test);

// Those GPUs were tested of which each test says something. `problem` is why some were not.
[[nodiscard]] DeepTestSummary deep_test_summary(std::span<const JudgedTest> tests,
                                                std::span<const host::GpuDevice> gpus);

}  // namespace autopilot::diagnostics
