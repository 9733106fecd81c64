// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// Running pods with GPUs, off a node with the verdict EVICT: in mode act alone, where what is told of the
// node may be believed, no breaker of its pool has tripped, the node takes no new pods, its job has not lost
// too many nodes and the rate allows it; where the policy asks for a spare, only if there is one. Those of
// low priority go first.
//
// is_held: as of move_gated_pods.
void move_running_pods(Deliberation& all, Draft& draft, bool is_held);

// Nothing of the user is on its GPUs any more, and nothing is about to be.
[[nodiscard]] bool is_empty_of_jobs(const World& world, const Node& node);

}  // namespace autopilot::controller
