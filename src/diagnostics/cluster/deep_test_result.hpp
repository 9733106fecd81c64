// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/child/deep_test_summary.hpp"
#include "diagnostics/cluster/reservation.hpp"
#include "host/gpu/dcgm.hpp"
#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// What one deep test said. Pure.
struct DeepTestResult {
  DeepTestOutcome outcome = DeepTestOutcome::not_tested;
  WallTime began{};           // when the node was reserved for it
  std::string why;            // not_tested: for a person
  std::string failed;         // "pcie.3,memory_bandwidth.0.1": tests and GPUs, in words of our own form
  DeepTestSummary summary{};  // each test, and the GPUs that were tested

  // DCGM's numbers of those that were tested and that no failure or warning concerns.
  [[nodiscard]] std::vector<host::DcgmGpu> passed_gpus() const;
};

// By the termination message of the container `kTestContainer` of a pod that is over. `fatal`: names of
// tests; one of them that fails makes the result fatal (host/gpu/dcgm.hpp).
// `excuses`: errors of DCGM by which it does not; such a test is told as "dcgm_error_101.0".
[[nodiscard]] DeepTestResult deep_test_result(const kube::Pod& pod, std::span<const std::string> fatal,
                                              std::span<const host::DcgmExcuse> excuses);

inline constexpr std::string_view kTestContainer = "test";

}  // namespace autopilot::diagnostics
