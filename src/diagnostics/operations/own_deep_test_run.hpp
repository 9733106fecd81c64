// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/clock.hpp"
#include "diagnostics/child/deep_test_summary.hpp"

// The deep test without DCGM: all tests of the GPU probe on all GPUs of NVIDIA, judged by the checks that
// judge each of them elsewhere.
namespace autopilot::diagnostics {

// What follows `--` on the command line of its helper (host/operations/deep_test_helper.hpp).
[[nodiscard]] std::vector<std::string> own_deep_test_arguments(const config::Config& config);

// [--seconds S] [--memory-share F] [--kernels LEVEL] [--threshold ID=NUMBER]... and, of a machine that does
// not exist, --tree DIR --library FILE --cuda-library FILE. Tells on standard output what was measured and
// found. Where GPUs are in use nothing is said of them.
[[nodiscard]] DeepTestSummary run_own_deep_test(const std::vector<std::string>& arguments, MonoTime until);

}  // namespace autopilot::diagnostics
