// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "checks/check.hpp"
#include "cli/machine.hpp"
#include "config/config.hpp"

namespace autopilot::cli {

// The built-in checks and, on this machine, those that its operator added. They own what they need.
[[nodiscard]] std::vector<checks::Check> checks_of(const MachineChoice& choice, const config::Config& config);

}  // namespace autopilot::cli
