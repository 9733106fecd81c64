// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::probes::net {

// docs/net-probe.md tells them to people.
enum ExitCode : int {
  exit_done = 0,        // everything was measured; served until the end
  exit_not_looked = 3,  // a process that measured, or a server, did not come to its end
  exit_usage = 64,
  exit_internal = 70,
  exit_signal = 128,  // and the number of the signal
};

}  // namespace autopilot::probes::net
