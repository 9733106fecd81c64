// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "controller/planner/draft.hpp"
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// What gates.cpp and evictions.cpp have in common.

// Priorities of the system itself begin there.
inline constexpr std::int64_t kSystemPriority = 2'000'000'000;
// What waits for room in the cluster is looked at again so often: nobody tells that there is some.
inline constexpr Duration kLookAgain = std::chrono::minutes{1};

// When the pod was last asked to go; nothing: never. It is noted before it is asked, so that it counts though
// no answer comes, and asked again after a while: a budget of its owner may refuse it, or the request was
// lost.
[[nodiscard]] std::optional<WallTime> last_asked(const LedgerEntry& entry, const Pod& pod);
inline constexpr Duration kAskAgain = std::chrono::minutes{1};
[[nodiscard]] inline ActionKind removal_kind(const Rules& rules) {
  return rules.deletes_pods ? ActionKind::delete_pod : ActionKind::evict_pod;
}
// It would come back to the same node, or the node needs it.
[[nodiscard]] inline bool is_bound_to_node(const Pod& pod) {
  return pod.priority >= kSystemPriority ||
         (pod.owner && (pod.owner->kind == "DaemonSet" || pod.owner->kind == "Node"));
}

// What speaks against placing pods there, in a few words; empty: nothing does.
[[nodiscard]] std::string fault_of(const Deliberation& all, const Node& node);
[[nodiscard]] bool is_good(const Deliberation& all, const Node& node);
// What keeps the pod from that node, whatever state the node is in, in a few words; empty: nothing does.
[[nodiscard]] std::string obstacle_of(const Pod& pod, const Node& node);
// Another node of the pool could take the pod, now or when it is free: if moved it has somewhere to go.
[[nodiscard]] bool has_another(const Deliberation& all, const Node& node, const Pod& pod);
// A node of the same pool that can take all of these pods now, best one of the same failure domain, and best
// none on probation; not one that this plan has named already. Nothing: there is none.
[[nodiscard]] std::optional<std::string> spare_for(const Deliberation& all, const Node& node,
                                                   std::span<const Pod* const> pods);

// Pods whose pre-flight test failed on the node, by the reports of the plan: the test ran on their own GPUs,
// so each may be moved off whatever the budgets say. Not one that nobody would make again, nor one that has
// nowhere to go; and where the node is not held, only few of them, or they come back and go again for ever.
//
// is_held: the node takes no new pods, or will not before these are moved.
void move_gated_pods(Deliberation& all, Draft& draft, bool is_held);

// Of a node that is not held so many gated pods are moved within an hour.
inline constexpr int kMovesPerHour = 3;

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
