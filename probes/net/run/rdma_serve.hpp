// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/net/run/rdma_options.hpp"

namespace autopilot::probes::net {

// The whole program after option parsing: a server for each perftest program, one line of JSON on standard
// output when all listen or have failed, exit code. It ends after all have served their test, after its time,
// or by SIGTERM, SIGINT or SIGHUP, and stops all servers.
[[nodiscard]] int rdma_serve(const RdmaServeOptions& options);

}  // namespace autopilot::probes::net
