// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/net/iperf/program.hpp"
#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// libiperf keeps global state and can exit the process: call each of these once, in a child process of its
// own.

// Runs one test and writes client_output() at its end. Retries for three seconds if the peer refuses or still
// runs another test, because a server does not listen for a moment after a test. Before sending data it waits
// at the start line for the others, for the same time at most.
void run_client(const ClientTest& test, StartLine& line, int output);

// Serves one test, or tests one after the other until the process is killed. Writes the lines of
// iperf/program.hpp. Returns if listening fails.
void run_server(const ServerTest& test, int output);

}  // namespace autopilot::probes::net
