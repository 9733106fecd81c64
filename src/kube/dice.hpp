// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace autopilot::kube {

// Numbers in [0, 1), for the jitter of pauses: no two processes have the same. On one thread.
[[nodiscard]] std::function<double()> dice();

}  // namespace autopilot::kube
