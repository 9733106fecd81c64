// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "config/config.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "diagnostics/operations/operations.hpp"
#include "host/gpu/dcgm.hpp"

namespace autopilot::diagnostics {

// The errors of catalog/dcgm_errors.yaml that do not evict.
[[nodiscard]] std::vector<host::DcgmExcuse> dcgm_excuses(const catalog::Catalog& facts);

// DCGM's diagnostic of the reserved GPUs; of all GPUs if none is reserved. fatal: names of tests.
[[nodiscard]] OperationKind dcgm_operation(const config::Dcgm& settings,
                                           const std::vector<std::string>& fatal,
                                           const SimulatedMachine& simulated = {});

// The tests of the GPU probe, each on the reserved GPUs; on all GPUs if none is reserved.
[[nodiscard]] std::vector<OperationKind> gpu_probe_operations(const config::GpuProbe& settings,
                                                              const SimulatedMachine& simulated = {});

// An all-reduce of the reserved GPUs; of all GPUs if none is reserved.
[[nodiscard]] OperationKind nccl_operation(const config::Nccl& settings,
                                           const SimulatedMachine& simulated = {});

}  // namespace autopilot::diagnostics
