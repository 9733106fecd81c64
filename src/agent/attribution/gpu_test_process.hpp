// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/workload.hpp"

namespace autopilot::agent {

// A test of an agent on that GPU, by the name of its program. Who borrows the name gains nothing: the program
// refuses GPUs on which others are. Pure.
[[nodiscard]] bool is_own_test(const Workload& workload);

}  // namespace autopilot::agent
