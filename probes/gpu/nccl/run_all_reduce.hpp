// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/nccl/all_reduce_options.hpp"

namespace autopilot::probes::gpu {

// nccl-serve and nccl-measure: writes the lines and gives the exit code of the program. Ends by itself, with
// whatever hangs: the patience, and ten seconds more than the time that was agreed on, are its limits.
[[nodiscard]] int run_all_reduce(const AllReduceOptions& options);

}  // namespace autopilot::probes::gpu
