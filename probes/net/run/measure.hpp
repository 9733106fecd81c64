// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "probes/net/processes/crew.hpp"
#include "probes/net/run/placement.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

// Runs one test and writes client_output(); called in a child process, where it can crash, hang and exit. It
// waits at the start line for the others, because rates that were not measured at the same time cannot be
// added.
using Client = std::function<void(const ClientTest&, StartLine&, int output)>;

// Runs all processes of a plan at once, each killed at its deadline. Blocks SIGTERM, SIGINT and SIGHUP; one
// of them ends the measurement and is stored in `signal`. No child outlives the call.
[[nodiscard]] MeasureReport run_plan(const MeasureOptions& options, const Plan& plan, const Client& client,
                                     int& signal);

// The whole program after option parsing: tests, JSON on standard output, exit code.
[[nodiscard]] int measure(const MeasureOptions& options, const Client& client);

}  // namespace autopilot::probes::net
