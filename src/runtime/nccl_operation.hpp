// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/config.hpp"
#include "host/operations/tested_gpus.hpp"
#include "runtime/operations.hpp"

namespace autopilot::runtime {

// An all-reduce of the GPUs that are reserved, of all where none are.
[[nodiscard]] OperationKind nccl_operation(const config::Nccl& settings,
                                           const host::SimulatedMachine& simulated = {});

}  // namespace autopilot::runtime
