// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::probes::gpu {

// Documented in docs/gpu-probe.md.
enum ExitCode : int {
  exit_measured = 0,
  exit_wrong = 2,       // a wrong result; takes precedence over exit_not_looked
  exit_not_looked = 3,  // no driver, no such GPU, or a GPU whose tests did not finish
  exit_usage = 64,
  exit_signal = 128,  // plus the number of the signal
};

}  // namespace autopilot::probes::gpu
