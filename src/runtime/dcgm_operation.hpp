// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "host/operations/tested_gpus.hpp"
#include "runtime/operations.hpp"

namespace autopilot::runtime {

// DCGM's diagnostic of the GPUs that are reserved, of all where none are. fatal: names of tests.
[[nodiscard]] OperationKind dcgm_operation(const config::Dcgm& settings,
                                           const std::vector<std::string>& fatal,
                                           const host::SimulatedMachine& simulated = {});

}  // namespace autopilot::runtime
