// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "runtime/operations.hpp"

namespace autopilot::runtime {

// A machine that does not exist, for a helper.
struct SimulatedMachine {
  std::string tree;     // its folder; empty: this machine
  std::string library;  // the driver's library that answers for it
};

// DCGM's diagnostic of the GPUs that are reserved, of all where none are. fatal: names of tests.
[[nodiscard]] OperationKind dcgm_operation(const config::Dcgm& settings,
                                           const std::vector<std::string>& fatal,
                                           const SimulatedMachine& simulated = {});

}  // namespace autopilot::runtime
