// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/run/options.hpp"

namespace autopilot::probes::gpu {

// The whole program after option parsing: tests, JSON on standard output, exit code. Blocks SIGTERM, SIGINT
// and SIGHUP. If a thread hangs in the driver, it does not return but ends the process.
[[nodiscard]] int run(const Options& options);

}  // namespace autopilot::probes::gpu
