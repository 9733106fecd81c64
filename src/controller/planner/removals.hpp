// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "controller/planner/draft.hpp"
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// Interval of repeated requests for the removal of a pod: a disruption budget can refuse one, or it can be
// lost.
inline constexpr Duration kAskAgain = std::chrono::minutes{1};

// True if pods can be placed on the node as far as its health is concerned.
[[nodiscard]] bool is_good(const Deliberation& all, const Node& node);

// Moves pods whose pre-flight test failed on the node, from the reports of the plan. The test ran on their
// own GPUs, so the budgets do not apply. Pods that no controller recreates, or that no other node can take,
// stay. If the node is not held, the number is limited, because the pods could return to the same node again
// and again.
// is_held: the node takes no new pods, or will not before these are moved.
void move_gated_pods(Deliberation& all, Draft& draft, bool is_held);

// Limit of gated pods that are moved within an hour off a node that is not held.
inline constexpr int kMovesPerHour = 3;

// Moves running pods with GPUs off a node with the verdict EVICT. Conditions: mode act, the reported health
// is reliable, no breaker of the pool has tripped, the node takes no new pods, its job has not lost too many
// nodes, the rate allows it, and a spare node exists if the policy requires one. Pods of low priority go
// first.
// is_held: see move_gated_pods.
void move_running_pods(Deliberation& all, Draft& draft, bool is_held);

// True if no container of a user uses its GPUs, or is about to.
[[nodiscard]] bool is_empty_of_jobs(const World& world, const Node& node);

}  // namespace autopilot::controller
