// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::probes::gpu {

// docs/gpu-probe.md tells them to people.
enum ExitCode : int {
  exit_measured = 0,
  exit_wrong = 2,       // some result was not the right one; outranks exit_not_looked
  exit_not_looked = 3,  // no driver, no such GPU, or a GPU whose tests did not come to their end
  exit_usage = 64,
  exit_signal = 128,  // and the number of the signal
};

}  // namespace autopilot::probes::gpu
