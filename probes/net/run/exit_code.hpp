// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::probes::net {

// Documented in docs/net-probe.md.
enum ExitCode : int {
  exit_done = 0,        // everything was measured, or served until the end
  exit_not_looked = 3,  // a measuring process or a server did not finish
  exit_usage = 64,
  exit_internal = 70,
  exit_signal = 128,  // plus the number of the signal
};

}  // namespace autopilot::probes::net
