// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// Pods whose pre-flight test failed on the node, by the reports of the plan: the test ran on their own GPUs,
// so each may be moved off whatever the budgets say. Not one that nobody would make again, nor one that has
// nowhere to go; and where the node is not held, only few of them, or they come back and go again for ever.
//
// is_held: the node takes no new pods, or will not before these are moved.
void move_gated_pods(Deliberation& all, Draft& draft, bool is_held);

// Of a node that is not held so many gated pods are moved within an hour.
inline constexpr int kMovesPerHour = 3;

}  // namespace autopilot::controller
