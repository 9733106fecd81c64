// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/evictions.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "controller/planner/breaker.hpp"
#include "controller/planner/removal.hpp"
#include "controller/planner/spares.hpp"

namespace autopilot::controller {
namespace {

std::vector<const Pod*> pods_with_gpus(const World& world, const Node& node) {
  std::vector<const Pod*> pods;
  for (const std::string& uid : world.pods_on(node.name))
    if (const Pod* pod = world.pod(uid); pod != nullptr && pod->gpus > 0 && !is_bound_to_node(*pod))
      pods.push_back(pod);
  std::ranges::sort(pods, [](const Pod* a, const Pod* b) {
    return std::tie(a->priority, a->name_space, a->name, a->uid) <
           std::tie(b->priority, b->name_space, b->name, b->uid);
  });
  return pods;
}

bool may_move(const Deliberation& all, const Draft& draft, bool is_held) {
  return draft.rules.mode == Mode::act && is_held && !draft.evidence.causes.empty() &&
         !doubt_of(draft.node, draft.rules, all.now) &&
         tripped_in(all.plan.breakers, draft.node.pool) == nullptr;
}

// Where the pods of the node may go; nothing where none is free.
std::optional<std::string> place_for(Deliberation& all, const Draft& draft,
                                     const std::vector<const Pod*>& pods) {
  std::vector<const Pod*> staying;
  std::ranges::copy_if(pods, std::back_inserter(staying), [](const Pod* pod) { return !pod->is_deleting; });
  if (staying.empty()) return std::nullopt;
  return spare_for(all, draft.node, staying);
}

// Whether the pod may be moved now.
bool take(Deliberation& all, Draft& draft, const Pod& pod, const Owner& owner, bool& may_go_on) {
  const auto asked = last_asked(draft.entry, pod);
  if (asked && all.now - *asked < kAskAgain) {
    all.wake(*asked + kAskAgain);
    return false;
  }
  const bool is_counted = asked && all.now - *asked < Budget::kHour;
  if (is_counted) return true;
  if (const auto full = all.budget.brake_of_eviction(draft.node.pool)) {
    draft.entry.message = full->why;
    if (const auto next = all.budget.next_eviction(draft.node.pool)) all.wake(*next);
    may_go_on = false;
    return false;
  }
  auto brake = all.budget.brake_of_job(draft.entry, owner.uid);
  if (!brake) brake = all.budget.brake_of_stop(draft.entry, owner.uid);
  if (brake) {
    draft.tell(target_of(owner, pod.name_space), "PodNotMoved",
               "pod " + pod.name + " stays on node " + draft.node.name + " though it is bad: " + brake->why,
               pod.uid);
    all.wake(all.now + kLookAgain);
    return false;
  }
  note_job(draft.entry, owner.uid);
  all.budget.take_job(draft.entry, owner.uid);
  all.budget.take_eviction(draft.node.pool, pod.uid);
  return true;
}

void move(Draft& draft, const Pod& pod, const Owner& owner) {
  const std::string why = sentence_of({.reports = {}, .causes = draft.evidence.causes});
  draft.add(removal_kind(draft.rules), target_of(pod), why).is_counted = true;
  draft.tell(target_of(owner, pod.name_space), "PodMoved",
             "pod " + pod.name + " is moved off node " + draft.node.name + ": " + why +
                 (draft.entry.spare.empty() ? "" : "; node " + draft.entry.spare + " is free for it"),
             pod.uid);
}

}  // namespace

void move_running_pods(Deliberation& all, Draft& draft, bool is_held) {
  if (!may_move(all, draft, is_held)) return;
  const std::vector<const Pod*> pods = pods_with_gpus(all.world, draft.node);
  const auto place = place_for(all, draft, pods);
  if (place) all.spares.insert(*place);
  if (place && draft.entry.spare.empty()) draft.entry.spare = *place;
  bool may_go_on = true;
  for (const Pod* pod : pods) {
    if (!pod->owner) {
      draft.tell(target_of(*pod), "PodNotRemoved",
                 "nothing would make this pod again, so it is not removed though its node is bad: " +
                     sentence_of({.reports = {}, .causes = draft.evidence.causes}));
      continue;
    }
    draft.is_pending = true;
    if (pod->is_deleting || draft.moves(*pod) || !may_go_on) continue;
    if (draft.rules.needs_spare && !place) {
      draft.entry.message = "no node is free for the pods of node " + draft.node.name;
      all.wake(all.now + kLookAgain);
      return;
    }
    if (take(all, draft, *pod, *pod->owner, may_go_on)) move(draft, *pod, *pod->owner);
  }
}

bool is_empty_of_jobs(const World& world, const Node& node) {
  return pods_with_gpus(world, node).empty();
}

}  // namespace autopilot::controller
