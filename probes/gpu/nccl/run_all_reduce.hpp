// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/nccl/all_reduce_options.hpp"

namespace autopilot::probes::gpu {

// nccl-serve and nccl-measure: writes the lines and returns the exit code of the program. Ends even if a call
// hangs: its limits are the patience, and the agreed time plus ten seconds.
[[nodiscard]] int run_all_reduce(const AllReduceOptions& options);

}  // namespace autopilot::probes::gpu
