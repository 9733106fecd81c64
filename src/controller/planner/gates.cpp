// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/gates.hpp"

#include <algorithm>
#include <array>

#include "controller/planner/removal.hpp"
#include "controller/planner/spares.hpp"

namespace autopilot::controller {
namespace {

int moves_in_hour(const LedgerEntry& entry, WallTime now) {
  return static_cast<int>(std::ranges::count_if(entry.done, [&](const DoneStep& step) {
    return is_removal(step.kind) && !step.is_counted && now - step.at < Budget::kHour;
  }));
}

// Which nodes are known to be bad for it, and why: for the job that has to wait.
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
  draft.tell(target_of(owner, pod.name_space), "NoGoodNode",
             "the pods wait: no node of pool " + draft.node.pool +
                 " is known to be good for them: " + bad_nodes(all, draft.node, pod));
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

// The pod waits in its gate for being moved. One that was let in would wait there if anything were done.
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
                 "nothing would make this pod again, so it is not removed; it does not start: " +
                     sentence_of({.reports = {report}, .causes = {}}));
      continue;
    }
    if (is_bound_to_node(*pod) || draft.moves(*pod)) continue;
    // Its owner wants it gone: then it is, wherever it may go.
    if (!pod->has_deschedule && !has_another(all, draft.node, *pod)) {
      tell_job_waits(all, draft, *pod, *pod->owner);
      all.wake(all.now + kLookAgain);
      continue;
    }
    const auto asked = last_asked(draft.entry, *pod);
    if (asked && all.now - *asked < kAskAgain) {
      draft.is_pending = true;
      all.wake(*asked + kAskAgain);
      continue;
    }
    if (!is_held && !asked && moves >= kMovesPerHour) {
      all.wake(all.now + kLookAgain);
      continue;
    }
    moves += asked ? 0 : 1;
    draft.is_pending = true;
    move(all, draft, *report, *pod, *pod->owner);
  }
}

}  // namespace autopilot::controller
