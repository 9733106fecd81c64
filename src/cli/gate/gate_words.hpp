// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/preflight.hpp"

// What `autopilot preflight` says, for those who read the log of the container. Pure.
namespace autopilot::cli {

// "node gpu-7: gpu.pcie_bandwidth passed 2 h ago on the 8 GPUs of this pod; the job may start"
[[nodiscard]] std::string line_of(const api::PreflightResult& result);
// "node gpu-7: gpu.pcie_bandwidth is being made"
[[nodiscard]] std::string line_of(const api::PreflightProgress& progress);

// "gpu.pcie_bandwidth,gpu.memory_bandwidth", blanks do not count.
[[nodiscard]] std::vector<std::string> parse_test_list(const std::string& text);

// What a person would see of a progress, but for how far a test is: two that are alike need not both be told.
[[nodiscard]] bool is_news(const std::optional<api::PreflightProgress>& before,
                           const api::PreflightProgress& now);

}  // namespace autopilot::cli
