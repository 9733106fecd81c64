// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "controller/planner/plan.hpp"

// What gates.cpp and evictions.cpp have in common.
namespace autopilot::controller {

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

}  // namespace autopilot::controller
