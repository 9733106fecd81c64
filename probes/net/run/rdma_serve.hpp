// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/net/run/rdma_options.hpp"

namespace autopilot::probes::net {

// The whole program after its options: a server of each program of perftest, one line of JSON on standard
// output when all listen or have told why they do not, exit code. It ends when all had their test, with its
// time, or by SIGTERM, SIGINT or SIGHUP: nobody listens any more.
[[nodiscard]] int rdma_serve(const RdmaServeOptions& options);

}  // namespace autopilot::probes::net
