// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace autopilot::kube {

// Random numbers in [0, 1) for the jitter of pauses, different in each process. Use on one thread.
[[nodiscard]] std::function<double()> dice();

}  // namespace autopilot::kube
