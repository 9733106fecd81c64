// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {

// Serves tests and writes the lines of iperf/program.hpp; called in a child process, where it can
// crash, hang and exit.
using Server = std::function<void(const ServerTest&, int output)>;

// The whole program after option parsing: servers, one line of JSON on standard output when all listen or
// have failed, exit code. A server whose process ends too early is restarted a limited number of times.
// Blocks SIGTERM, SIGINT and SIGHUP; one of them, or the end of its time, ends it and stops all servers.
[[nodiscard]] int serve(const ServeOptions& options, const Server& server);

}  // namespace autopilot::probes::net
