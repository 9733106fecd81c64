// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// The release of the running kernel: "6.8.0-51-generic".
[[nodiscard]] Result<std::string> read_kernel_release(const Files& files);

}  // namespace autopilot::host
