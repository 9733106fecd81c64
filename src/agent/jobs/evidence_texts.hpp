// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::agent {

// The newest records of the kernel log, one a line, the oldest first.
inline constexpr std::size_t kMostKernelLines = 500;
[[nodiscard]] std::string kernel_log_text(const host::KernelRecords& log);

}  // namespace autopilot::agent
