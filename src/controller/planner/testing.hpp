// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// Which of the nodes whose agents asked may be reserved for a deep test: in every mode, for the agent does
// it, and so many of a pool and of a failure domain at once. Who has waited longest is first. Held nodes need
// not ask for leave: they serve nobody.
void grant_tests(Deliberation& all);

}  // namespace autopilot::controller
