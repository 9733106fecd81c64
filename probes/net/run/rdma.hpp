// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

// The whole program after option parsing: a server for each perftest program, one line of JSON on standard
// output when all listen or have failed, exit code. It ends after all have served their test, after its time,
// or by SIGTERM, SIGINT or SIGHUP, and stops all servers.
[[nodiscard]] int rdma_serve(const RdmaServeOptions& options);

struct RdmaPatience {
  Duration connecting = std::chrono::seconds(5);  // to retry while no program listens
  Duration rest = std::chrono::seconds(13);       // of a test, beyond its duration
};

// Runs one test after the other, up to the first failure; each is killed at its deadline. Blocks SIGTERM,
// SIGINT and SIGHUP; one of them ends the measurement and is stored in `signal`. No child outlives the call.
[[nodiscard]] RdmaMeasureReport run_rdma(const RdmaMeasureOptions& options, const RdmaPatience& patience,
                                         int& signal);

// The whole program after option parsing: tests, JSON on standard output, exit code.
[[nodiscard]] int rdma_measure(const RdmaMeasureOptions& options);
// The same between a device and itself: one bandwidth test, with a server of its own.
[[nodiscard]] int rdma_loopback(const RdmaLoopbackOptions& options);

}  // namespace autopilot::probes::net
