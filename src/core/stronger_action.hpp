// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/action.hpp"

namespace autopilot {

// The stronger of two actions. Actions that take the device out of service are stronger than all others.
[[nodiscard]] Action stronger(Action a, Action b);

}  // namespace autopilot
