// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// A node against which something speaks, with a plan that does not hold it yet, or without one: it is held
// unless something keeps the plan from it, for which it then waits; pods are moved in any case where they
// may. Where the mode of the pool does not act on such evidence the same is recorded.
void decide(Deliberation& all, Draft draft);

// A plan whose node has its cordon, or should have: what is left to do, and whether it may be given back.
void follow_hold(Deliberation& all, const Node& node, const LedgerEntry& entry);

// The mode lets something be done about it: in mode hold about a failed pre-flight test alone.
[[nodiscard]] bool acts_on(const Evidence& evidence, Mode mode);
// The annotation of the node names the plan.
[[nodiscard]] bool is_held_by(const Node& node, const LedgerEntry& entry);

}  // namespace autopilot::controller
