// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// One line of the log for each thing that was done to the cluster: what, to what, why, on which evidence, how
// the budgets stood, and by whom. What was only told or marked is a line for who looks for details.
void log_done(const PlannedAction& action, const std::string& actor);

}  // namespace autopilot::controller
