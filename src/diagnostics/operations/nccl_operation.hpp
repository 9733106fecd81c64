// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/config.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "diagnostics/operations/operations.hpp"

namespace autopilot::diagnostics {

// An all-reduce of the GPUs that are reserved, of all where none are.
[[nodiscard]] OperationKind nccl_operation(const config::Nccl& settings,
                                           const SimulatedMachine& simulated = {});

}  // namespace autopilot::diagnostics
