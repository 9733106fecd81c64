// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/config.hpp"
#include "host/operations/tested_gpus.hpp"
#include "runtime/operations.hpp"

namespace autopilot::runtime {

// The tests of the GPU probe, each of the GPUs that are reserved, of all where none are.
[[nodiscard]] std::vector<OperationKind> gpu_probe_operations(const config::GpuProbe& settings,
                                                              const host::SimulatedMachine& simulated = {});

}  // namespace autopilot::runtime
