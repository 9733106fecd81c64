// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {

// Answers tests and writes the lines of iperf/server_output.hpp; called in a child process, where it may
// crash, hang and exit.
using Server = std::function<void(const ServerTest&, int output)>;

// The whole program after its options: servers, one line of JSON on standard output when all listen or have
// told why they do not, exit code. A server whose process ends too early is started again, some times.
// SIGTERM, SIGINT and SIGHUP are blocked from then on, and end it as its time does: nobody listens any more.
[[nodiscard]] int serve(const ServeOptions& options, const Server& server);

}  // namespace autopilot::probes::net
