// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/plan.hpp"

// What the cluster looks like when a plan was carried out: for who replays a history, and for tests.
namespace autopilot::controller {

// As if the API server had done it. Deep tests, requests and Events change nothing here.
void apply(World& world, const PlannedAction& action, WallTime now);
// In the order that Decision asks for, with what is noted in the ledger.
void apply(World& world, const Decision& decision, WallTime now);

}  // namespace autopilot::controller
