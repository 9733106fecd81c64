// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "controller/planner/words.hpp"

namespace autopilot::controller {

// Why something is not done now.
struct Brake {
  BrakeKind kind = BrakeKind::unknown;
  std::string why;  // one sentence
};

}  // namespace autopilot::controller
