// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/net/iperf/arguments.hpp"
#include "probes/net/processes/start_line.hpp"

namespace autopilot::probes::net {

// libiperf keeps its state in the process, and ends the process where it likes: each of these is called once,
// in a child process of its own.

// One test; writes client_output() at its end. A peer that refuses, or is still in another test, is asked
// again for three seconds: a server that has just ended a test does not listen for a moment. Before its data
// it waits at the line for the others, for as long at most.
void run_client(const ClientTest& test, StartLine& line, int output);

// Tests of others, one after the other, until the process is killed, or one where that is all. Writes
// server_line() texts (iperf/server_output.hpp). Returns where nobody can listen.
void run_server(const ServerTest& test, int output);

}  // namespace autopilot::probes::net
