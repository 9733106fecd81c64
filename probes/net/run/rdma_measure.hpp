// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"
#include "probes/net/run/rdma_options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

struct RdmaPatience {
  Duration connecting = std::chrono::seconds(5);  // while nobody listens
  Duration rest = std::chrono::seconds(13);       // of a test, beside the time that it lasts
};

// One test after the other, up to the first that fails; each killed at its deadline. SIGTERM, SIGINT and
// SIGHUP are blocked from then on; one of them ends the measurement, and is left in `signal`. Nobody outlives
// it.
[[nodiscard]] RdmaMeasureReport run_rdma(const RdmaMeasureOptions& options, const RdmaPatience& patience,
                                         int& signal);

// The whole program after its options: tests, JSON on standard output, exit code.
[[nodiscard]] int rdma_measure(const RdmaMeasureOptions& options);
// The same of a device and itself: one test of bandwidth, with a server of its own.
[[nodiscard]] int rdma_loopback(const RdmaLoopbackOptions& options);

}  // namespace autopilot::probes::net
