// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/action.hpp"

namespace autopilot {

// The one that asks for more; those that take the device out of service ask for more than the others.
[[nodiscard]] Action stronger(Action a, Action b);

}  // namespace autopilot
