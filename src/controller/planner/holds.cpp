// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/holds.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

#include "controller/planner/budget.hpp"
#include "controller/planner/removals.hpp"
#include "controller/planner/returns.hpp"

namespace autopilot::controller {
namespace {

// The passive finding is too recent to know whether other nodes fail for the same cause.
std::optional<Brake> unsettled(Deliberation& all, const Draft& draft) {
  const bool is_seen_only =
      draft.evidence.reports.empty() && std::ranges::all_of(draft.evidence.causes, &OpenCause::is_passive);
  const WallTime settled = draft.evidence.first() + draft.rules.breaker_settle;
  if (!is_seen_only || all.now >= settled) return std::nullopt;
  all.wake(settled);
  return Brake{BrakeKind::settling, "the finding is newer than " +
                                        format_duration(draft.rules.breaker_settle) +
                                        "; other nodes can fail for the same cause"};
}

std::optional<Brake> brake_of(Deliberation& all, const Draft& draft) {
  if (draft.node.is_unschedulable && !is_held_by(draft.node, draft.entry))
    return Brake{
        BrakeKind::others_cordon,
        "node " + draft.node.name + " has a cordon that is not Autopilot's, so Autopilot does not hold it"};
  if (draft.node.is_exempt)
    return Brake{BrakeKind::exempt,
                 "the label hold=disabled of node " + draft.node.name + " excludes it from holds"};
  if (const TrippedBreaker* breaker = tripped_in(all.plan.breakers, draft.node.pool))
    return Brake{BrakeKind::breaker, describe(*breaker, all.world, draft.rules)};
  if (auto doubt = doubt_of(draft.node, draft.rules, all.now)) return doubt;
  if (auto young = unsettled(all, draft)) return young;
  if (draft.evidence.is_of_history())
    if (auto full = all.budget.brake_of_lemon(draft.entry)) return full;
  return all.budget.brake_of_hold(draft.entry);
}

// A plan of a node of the breaker has reported it since.
bool is_told(const World& world, const TrippedBreaker& breaker, const PlannedAction& event) {
  const std::string key = event.target_key();
  const auto says_it = [&](const std::string& name) {
    const LedgerEntry* entry = world.entry(name);
    return entry != nullptr && std::ranges::any_of(entry->done, [&](const DoneStep& step) {
             return step.kind == ActionKind::event && step.target == key && step.at >= breaker.first;
           });
  };
  return std::ranges::any_of(breaker.nodes, [&](const std::string& node) {
    return std::ranges::any_of(world.plans_on(node), says_it);
  });
}

// A warning, once for the whole pool: from the first plan that waits for the breaker, because the nodes that
// failed first can be held already.
void tell_of_breaker(Deliberation& all, Draft& draft) {
  const TrippedBreaker* breaker = tripped_in(all.plan.breakers, draft.node.pool);
  if (breaker == nullptr || !all.pools_told.insert(breaker->pool).second) return;
  PlannedAction event;
  event.target = ourselves();
  event.reason = "BreakerOpen";
  event.about = breaker->cause;
  if (!is_told(all.world, *breaker, event))
    draft.tell(event.target, event.reason, describe(*breaker, all.world, draft.rules), event.about);
}

// Whether the text names that pool: "... of pool gpu-train".
bool names_pool(std::string_view text, const std::string& pool) {
  const std::string wanted = "pool " + pool;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + 1)) {
    const std::string_view rest = text.substr(at + wanted.size());
    const bool goes_on = !rest.empty() && (std::isalnum(static_cast<unsigned char>(rest.front())) != 0 ||
                                           rest.starts_with('-') || rest.starts_with('_'));
    if (!goes_on) return true;
  }
  return false;
}

// The previous message about the same brake names a pool that the node has left: the policy or the labels
// have changed.
bool is_of_other_pool(const Draft& draft, const Brake& brake) {
  const std::string& pool = draft.node.pool;
  return names_pool(brake.why, pool) && !names_pool(draft.entry.message, pool);
}

void wait(Deliberation& all, Draft& draft, const Brake& brake) {
  const std::string word(to_string(brake.kind));
  LedgerEntry& entry = draft.entry;
  entry.phase = Phase::waiting;
  entry.holds = false;
  if (entry.brake != word || is_of_other_pool(draft, brake)) {
    entry.brake = word;
    entry.message = "not held: " + brake.why;
    entry.budget = all.budget.state(entry);
  }
  draft.tell(target_of(draft.node), "NodeNotHeld", entry.message, word);
  if (brake.kind == BrakeKind::rate)
    if (const auto next = all.budget.next_hold(draft.node.pool)) all.wake(*next);
  if (!draft.evidence.reports.empty()) all.wake(draft.evidence.latest() + draft.rules.report_age);
}

void hold(Deliberation& all, Draft& draft) {
  LedgerEntry& entry = draft.entry;
  const std::string why = sentence_of(draft.evidence);
  if (entry.phase != Phase::executing) {
    entry.begun = all.now;
    entry.brake.clear();
    entry.message = why;
  }
  entry.phase = Phase::executing;
  entry.holds = true;
  all.budget.take_hold(entry);
  if (draft.before == nullptr || !draft.before->holds) entry.budget = all.budget.state(entry);
  PlannedAction& cordon = draft.add(ActionKind::cordon, target_of(draft.node), why);
  cordon.undo = "uncordon, after proof of health";
  cordon.cause = entry.cause;
  draft.tell(target_of(draft.node), "NodeHeld", "held by plan " + entry.name + ": " + why);
}

// A distinct reason, so that a count of Events by reason does not include recorded actions.
std::string recorded_reason(const std::string& reason) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> names{
      {{"NodeHeld", "WouldHoldNode"},
       {"NodeNotHeld", "WouldNotHoldNode"},
       {"PodMoved", "WouldMovePod"},
       {"PodNotMoved", "WouldNotMovePod"},
       {"PodNotRemoved", "WouldNotRemovePod"}}};
  const auto known = std::ranges::find(names, reason, &std::pair<std::string_view, const char*>::first);
  return known == names.end() ? reason : known->second;
}

// The recorded actions are the actions of mode act, marked as recorded only.
void record(Draft& draft) {
  LedgerEntry& entry = draft.entry;
  const std::string otherwise =
      draft.evidence.is_of_history() ? "in mode act with lemons.hold: " : "in mode act: ";
  const std::string nothing =
      "mode " + std::string(to_string(draft.rules.mode)) + " changes nothing here; " + otherwise;
  entry.phase = Phase::recorded;
  entry.message = nothing + entry.message;
  entry.budget = otherwise + entry.budget;
  for (PlannedAction& action : draft.actions) {
    const bool is_telling = action.kind == ActionKind::event || action.kind == ActionKind::mark_report;
    action.is_recorded_only = !is_telling;
    if (action.kind != ActionKind::event) continue;
    action.reason = recorded_reason(action.reason);
    action.why = nothing + action.why;
  }
}

// In modes that do not act, the rules of mode act are recorded.
Rules recorded_rules(Rules rules) {
  rules.mode = Mode::act;
  return rules;
}

void weigh(Deliberation& all, Draft& draft) {
  const auto brake = brake_of(all, draft);
  if (brake)
    wait(all, draft, *brake);
  else
    hold(all, draft);
  const bool is_held = !brake || draft.node.is_unschedulable;
  move_gated_pods(all, draft, is_held);
  move_running_pods(all, draft, is_held);
  if (brake) tell_of_breaker(all, draft);
}

// The response to the cordon was lost.
void note_cordon(LedgerEntry& entry, const Node& node, WallTime since) {
  if (!has_done(entry, ActionKind::cordon, node.name))
    note_done(entry, {.kind = ActionKind::cordon, .target = node.name, .at = since});
}

// Another program or person has removed or replaced our cordon. The ledger records this before the annotation
// is removed: otherwise a crash in between would hold the node again.
void release(const Deliberation& all, Draft& draft) {
  const Node& node = draft.node;
  LedgerEntry& entry = draft.entry;
  entry.is_released = true;
  entry.holds = false;
  const bool is_held = is_held_by(node, entry);
  if (!is_held && node.has_held_label)
    draft.add(ActionKind::release, target_of(node),
              "the cordon of node " + node.name + " is no longer Autopilot's");
  if (is_held) {
    note_cordon(entry, node, node.held ? node.held->since : all.now);
    entry.phase = Phase::undoing;
    entry.brake.clear();
    entry.message = "given back by hand";
    draft.add(ActionKind::release, target_of(node),
              "node " + node.name + " was uncordoned by another program or person");
  }
  draft.tell(target_of(node), "NodeReleased",
             "node " + node.name + " was given back by hand; it is not held again for the same evidence", {},
             false);
  if (!is_held) end(all, draft, "given back by hand", ReportPhase::undone);
}

// `kubectl describe` of the waiting pod shows the reason.
void tell_pods(Draft& draft) {
  for (const Report* report : draft.evidence.reports)
    draft.tell(pod_of(*report), "PreflightFailed",
               "node " + draft.node.name + ": " + sentence_of({.reports = {report}, .causes = {}}) +
                   (report->is_let_in ? "; the node only reports failures, so the pod starts"
                                      : "; the pod does not start there"));
}

}  // namespace

bool acts_on(const Evidence& evidence, const Rules& rules) {
  if (rules.mode == Mode::act) return rules.holds_lemons || !evidence.is_of_history();
  return rules.mode == Mode::hold && !evidence.reports.empty();
}

bool is_held_by(const Node& node, const LedgerEntry& entry) {
  return node.held && node.held->plan == entry.name;
}

void decide(Deliberation& all, Draft draft) {
  if (awaits_history(all, draft)) return;
  take_evidence(draft);
  if (!draft.evidence.any()) {
    end(all, draft, "no evidence against the node is left", ReportPhase::expired);
    return commit(all, std::move(draft));
  }
  if (acts_on(draft.evidence, draft.rules)) {
    weigh(all, draft);
    tell_pods(draft);
    const bool has_begun = draft.entry.phase == Phase::executing || draft.is_pending;
    mark_reports(all.world, draft, has_begun ? ReportPhase::acted : ReportPhase::planned);
    return commit(all, std::move(draft));
  }
  const Rules rules = recorded_rules(draft.rules);
  Draft shown{.node = draft.node,
              .rules = rules,
              .before = draft.before,
              .evidence = draft.evidence,
              .entry = draft.entry};
  weigh(all, shown);
  draft.entry = std::move(shown.entry);
  draft.actions = std::move(shown.actions);
  record(draft);
  tell_pods(draft);
  mark_reports(all.world, draft, ReportPhase::planned);
  commit(all, std::move(draft));
}

void follow_hold(Deliberation& all, const Node& node, const LedgerEntry& entry) {
  Draft draft = draft_of(all, node, entry);
  const bool is_ours = is_held_by(node, entry);
  const bool was_cordoned = entry.phase == Phase::held || has_done(entry, ActionKind::cordon, node.name);
  if (is_ours ? !node.is_unschedulable : was_cordoned) {
    release(all, draft);
    return commit(all, std::move(draft));
  }
  if (!is_ours) {
    if (awaits_history(all, draft)) return;
    // The cordon was lost or never sent: decides again whether it is needed.
    all.budget.give_back_hold(entry);
    return decide(all, std::move(draft));
  }
  take_evidence(draft);
  tell_pods(draft);
  draft.entry.holds = true;
  draft.entry.is_released = false;
  const WallTime since = node.held ? node.held->since : all.now;
  if (!draft.entry.begun) draft.entry.begun = since;
  note_cordon(draft.entry, node, since);
  if (draft.rules.mode == Mode::observe) {
    if (draft.entry.phase != Phase::executing) draft.entry.phase = Phase::held;
    draft.entry.message = "held; in mode observe it is not given back";
    return commit(all, std::move(draft));
  }
  move_gated_pods(all, draft, true);
  move_running_pods(all, draft, true);
  draft.entry.phase = draft.is_pending ? Phase::executing : Phase::held;
  give_back_or_test(all, draft);
  mark_reports(all.world, draft, ReportPhase::acted);
  commit(all, std::move(draft));
}

}  // namespace autopilot::controller
