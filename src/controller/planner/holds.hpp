// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// Decides about a node with evidence that no plan holds yet. The node is held unless a brake applies; then
// the plan waits. Pods are moved in both cases if that is allowed. If the mode of the pool does not act on
// the evidence, the same is only recorded.
void decide(Deliberation& all, Draft draft);

// Continues a plan whose node is cordoned or should be: remaining actions, and the return of the node.
void follow_hold(Deliberation& all, const Node& node, const LedgerEntry& entry);

// True if the rules act on the evidence; mode hold acts only on failed pre-flight tests, and mode act on
// lemons only where Rules::holds_lemons is set.
[[nodiscard]] bool acts_on(const Evidence& evidence, const Rules& rules);
// True if the annotation of the node names the plan.
[[nodiscard]] bool is_held_by(const Node& node, const LedgerEntry& entry);

}  // namespace autopilot::controller
