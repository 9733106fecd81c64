// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "config/config.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "diagnostics/operations/operations.hpp"

namespace autopilot::diagnostics {

// The tests of the GPU probe, each of the GPUs that are reserved, of all where none are.
[[nodiscard]] std::vector<OperationKind> gpu_probe_operations(const config::GpuProbe& settings,
                                                              const SimulatedMachine& simulated = {});

}  // namespace autopilot::diagnostics
