// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/removals.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <tuple>

#include "controller/planner/budget.hpp"

namespace autopilot::controller {

namespace {

// Lowest priority of system pods.
constexpr std::int64_t kSystemPriority = 2'000'000'000;
// Interval of decisions about pods that wait for free capacity, which no event reports.
constexpr Duration kRetry = std::chrono::minutes{1};

// When the pod was last asked to leave; nullopt: never. It is recorded before the request, so that it counts
// although the response is lost.
std::optional<WallTime> last_asked(const LedgerEntry& entry, const Pod& pod) {
  for (const DoneStep& step : entry.done) {
    if (is_removal(step.kind) && step.target == pod.uid) return step.at;
  }
  return std::nullopt;
}

ActionKind removal_kind(const Rules& rules) {
  return rules.deletes_pods ? ActionKind::delete_pod : ActionKind::evict_pod;
}

// True if the pod would return to the same node, or the node needs it.
bool is_bound_to_node(const Pod& pod) {
  return pod.priority >= kSystemPriority ||
         (pod.owner && (pod.owner->kind == "DaemonSet" || pod.owner->kind == "Node"));
}

// Why no pod should be placed on the node, in a few words; empty: no reason.
std::string fault_of(const Deliberation& all, const Node& node) {
  const Rules& rules = all.rules_of(node);
  for (const std::string& name : all.world.reports_on(node.name)) {
    const Report* report = all.world.report(name);
    // An undone report does not count: the person who returned the node has decided about it.
    if (report == nullptr || report->phase == ReportPhase::undone) continue;
    if (!is_standing(*report, node, rules, all.now)) continue;
    return report->failed.empty() ? "pre-flight test failed" : report->failed.front().test + " failed";
  }
  if (node.verdict == Verdict::evict)
    return node.causes.empty() ? "EVICT" : "EVICT: " + node.causes.front().cause;
  const auto accused = std::ranges::find_if(node.causes, &OpenCause::is_of_job);
  if (accused != node.causes.end()) return accused->cause;
  if (node.held) return "held";
  if (node.is_unschedulable) return "cordoned";
  if (!node.is_ready) return "not ready";
  if (node.verdict == Verdict::testing) return "being tested";
  return node.verdict && node.verdict != Verdict::none ? "" : "not known";
}

// Why the pod cannot be placed on that node, independent of the node's health, in a few words; empty: it can.
std::string obstacle_of(const Pod& pod, const Node& node) {
  if (node.gpus < pod.gpus) return "has too few GPUs";
  if (!kube::may_be_placed(pod.placement, node.name, node.labels, {}))
    return "does not match the pod's node selector";
  if (!kube::may_be_placed(pod.placement, node.name, node.labels, node.taints))
    return "has a taint that the pod does not tolerate";
  return {};
}

// True if another node of the pool can take the pod, now or once it is free.
bool has_another(const Deliberation& all, const Node& node, const Pod& pod) {
  return std::ranges::any_of(all.world.in_pool(node.pool), [&](const std::string& name) {
    const Node* other = all.world.node(name);
    return other != nullptr && name != node.name && obstacle_of(pod, *other).empty() && is_good(all, *other);
  });
}

int free_gpus(const World& world, const Node& node) {
  int free = node.gpus;
  for (const std::string& uid : world.pods_on(node.name))
    if (const Pod* pod = world.pod(uid)) free -= pod->gpus;
  return free;
}

int gpus_of(std::span<const Pod* const> pods) {
  int gpus = 0;
  for (const Pod* pod : pods)
    gpus += pod->gpus;
  return gpus;
}

std::optional<std::string> spare_among(const Deliberation& all, const World::Names& names, const Node& node,
                                       std::span<const Pod* const> pods) {
  const int gpus = gpus_of(pods);
  std::optional<std::string> on_probation;
  for (const std::string& name : names) {
    const Node* other = all.world.node(name);
    if (other == nullptr || name == node.name || other->pool != node.pool || all.spares.contains(name))
      continue;
    const auto fits = [other](const Pod* pod) { return obstacle_of(*pod, *other).empty(); };
    if (!std::ranges::all_of(pods, fits) || !is_good(all, *other) || free_gpus(all.world, *other) < gpus)
      continue;
    if (!other->probation) return name;
    if (!on_probation) on_probation = name;
  }
  return on_probation;
}

// A node of the same pool that can take all of these pods now, preferably in the same failure domain and not
// on probation; never a node that this plan has assigned already. nullopt: none.
std::optional<std::string> spare_for(const Deliberation& all, const Node& node,
                                     std::span<const Pod* const> pods) {
  if (all.rules_of(node).prefers_same_domain && !node.domain.empty())
    if (auto near = spare_among(all, all.world.in_domain(node.domain), node, pods)) return near;
  return spare_among(all, all.world.in_pool(node.pool), node, pods);
}

int moves_in_hour(const LedgerEntry& entry, WallTime now) {
  return static_cast<int>(std::ranges::count_if(entry.done, [&](const DoneStep& step) {
    return is_removal(step.kind) && !step.is_counted && now - step.at < Budget::kHour;
  }));
}

// The unsuitable nodes with reasons, for the job that waits.
std::string bad_nodes(const Deliberation& all, const Node& node, const Pod& pod) {
  constexpr std::size_t shown = 10;
  std::vector<std::string> bad;
  for (const std::string& name : all.world.in_pool(node.pool)) {
    const Node* other = all.world.node(name);
    if (other == nullptr) continue;
    std::string fault = fault_of(all, *other);
    if (fault.empty()) fault = obstacle_of(pod, *other);
    if (!fault.empty()) bad.push_back(std::string(name).append(" (").append(fault).append(")"));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(bad.size(), shown); ++i)
    text.append(i == 0 ? "" : ", ").append(bad[i]);
  return bad.size() <= shown ? text : text + " and " + std::to_string(bad.size() - shown) + " more";
}

void tell_job_waits(Deliberation& all, Draft& draft, const Pod& pod, const Owner& owner) {
  if (!all.told.insert(owner.uid).second) return;
  draft.tell(
      target_of(owner, pod.name_space), "NoGoodNode",
      "the pods wait: no suitable node in pool " + draft.node.pool + ": " + bad_nodes(all, draft.node, pod));
}

void move(Deliberation& all, Draft& draft, const Report& report, const Pod& pod, const Owner& owner) {
  const std::string why = sentence_of({.reports = {&report}, .causes = {}});
  draft.add(removal_kind(draft.rules), target_of(pod), why);
  const std::array<const Pod*, 1> moved{&pod};
  if (draft.entry.spare.empty()) draft.entry.spare = spare_for(all, draft.node, moved).value_or("");
  if (!draft.entry.spare.empty()) all.spares.insert(draft.entry.spare);
  draft.tell(target_of(owner, pod.name_space), "PodMoved",
             "pod " + pod.name + " is moved off node " + draft.node.name + ": " + why +
                 (draft.entry.spare.empty() ? "" : "; node " + draft.entry.spare + " is free for it"),
             pod.uid);
}

// The pod waits at its gate to be moved. In mode observe this includes admitted pods, which would wait in the
// other modes.
bool waits_to_be_moved(const Deliberation& all, const Draft& draft, const Report& report, const Pod& pod) {
  const bool is_recorded = all.rules_of(draft.node).mode == Mode::observe;
  return report.is_let_in ? is_recorded : pod.is_gated;
}

}  // namespace

void move_gated_pods(Deliberation& all, Draft& draft, bool is_held) {
  int moves = moves_in_hour(draft.entry, all.now);
  for (const std::string& name : draft.entry.evidence) {
    const Report* report = all.world.report(name);
    const Pod* pod = report == nullptr ? nullptr : all.world.pod(report->pod_uid);
    if (pod == nullptr || pod->node != draft.node.name || pod->is_deleting) continue;
    if (is_disproven(*report, draft.node)) continue;
    if (!pod->has_deschedule && !waits_to_be_moved(all, draft, *report, *pod)) continue;
    if (!pod->owner) {
      draft.tell(target_of(*pod), "PodNotRemoved",
                 "no controller would recreate this pod, so it is not removed; it does not start: " +
                     sentence_of({.reports = {report}, .causes = {}}));
      continue;
    }
    if (is_bound_to_node(*pod) || draft.moves(*pod)) continue;
    // The pod's label requests the removal: it does not need another node.
    if (!pod->has_deschedule && !has_another(all, draft.node, *pod)) {
      tell_job_waits(all, draft, *pod, *pod->owner);
      all.wake(all.now + kRetry);
      continue;
    }
    const auto asked = last_asked(draft.entry, *pod);
    if (asked && all.now - *asked < kAskAgain) {
      draft.is_pending = true;
      all.wake(*asked + kAskAgain);
      continue;
    }
    if (!is_held && !asked && moves >= kMovesPerHour) {
      all.wake(all.now + kRetry);
      continue;
    }
    moves += asked ? 0 : 1;
    draft.is_pending = true;
    move(all, draft, *report, *pod, *pod->owner);
  }
}

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
  const bool is_asked =
      std::ranges::any_of(draft.evidence.causes, [](const OpenCause* cause) { return !cause->keeps_pods; });
  return draft.rules.mode == Mode::act && is_held && is_asked &&
         !doubt_of(draft.node, draft.rules, all.now) &&
         tripped_in(all.plan.breakers, draft.node.pool) == nullptr;
}

// A node for the pods; nullopt: none is free.
std::optional<std::string> place_for(Deliberation& all, const Draft& draft,
                                     const std::vector<const Pod*>& pods) {
  std::vector<const Pod*> staying;
  std::ranges::copy_if(pods, std::back_inserter(staying), [](const Pod* pod) { return !pod->is_deleting; });
  if (staying.empty()) return std::nullopt;
  return spare_for(all, draft.node, staying);
}

// True if the pod can be moved now.
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
    draft.tell(
        target_of(owner, pod.name_space), "PodNotMoved",
        "pod " + pod.name + " stays on node " + draft.node.name + " although the node failed: " + brake->why,
        pod.uid);
    all.wake(all.now + kRetry);
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
                 "no controller would recreate this pod, so it is not removed although its node failed: " +
                     sentence_of({.reports = {}, .causes = draft.evidence.causes}));
      continue;
    }
    draft.is_pending = true;
    if (pod->is_deleting || draft.moves(*pod) || !may_go_on) continue;
    if (draft.rules.needs_spare && !place) {
      draft.entry.message = "no node is free for the pods of node " + draft.node.name;
      all.wake(all.now + kRetry);
      return;
    }
    if (take(all, draft, *pod, *pod->owner, may_go_on)) move(draft, *pod, *pod->owner);
  }
}

bool is_good(const Deliberation& all, const Node& node) {
  return fault_of(all, node).empty();
}

bool is_empty_of_jobs(const World& world, const Node& node) {
  return pods_with_gpus(world, node).empty();
}

}  // namespace autopilot::controller
