// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "probes/net/processes/start_line.hpp"
#include "probes/net/run/placement.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

// Makes one test and writes client_output(); called in a child process, where it may crash, hang and exit. It
// waits at the line for the others: the sum of bandwidths that were not measured at the same time is more
// than there is.
using Client = std::function<void(const ClientTest&, StartLine&, int output)>;

// All processes of a plan at once, each killed at its deadline. SIGTERM, SIGINT and SIGHUP are blocked from
// then on; one of them ends the measurement, and is left in `signal`. Nobody outlives it.
[[nodiscard]] MeasureReport run_plan(const MeasureOptions& options, const Plan& plan, const Client& client,
                                     int& signal);

// The whole program after its options: tests, JSON on standard output, exit code.
[[nodiscard]] int measure(const MeasureOptions& options, const Client& client);

}  // namespace autopilot::probes::net
