// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/preflight.hpp"

// Lines of `autopilot preflight` in the log of the container. Pure.
namespace autopilot::cli {

// "node gpu-7: gpu.pcie_bandwidth passed 2 h ago on the 8 GPUs of this pod; the job may start"
[[nodiscard]] std::string line_of(const api::PreflightResult& result);
// "node gpu-7: gpu.pcie_bandwidth is running"
[[nodiscard]] std::string line_of(const api::PreflightProgress& progress);

// Parses "gpu.pcie_bandwidth,gpu.memory_bandwidth"; ignores blanks.
[[nodiscard]] std::vector<std::string> parse_test_list(const std::string& text);

// True if the line differs from the previous one, apart from the progress of a diagnostic.
[[nodiscard]] bool is_news(const std::optional<api::PreflightProgress>& before,
                           const api::PreflightProgress& now);

}  // namespace autopilot::cli
