// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/probation.hpp"

#include "controller/planner/returns.hpp"

namespace autopilot::controller {
namespace {

// The first test that is due and was not passed; nothing: all were.
std::optional<WallTime> next_test(const Draft& draft, WallTime returned) {
  const auto proof = last_proof(draft.node, draft.entry, draft.rules);
  for (const Duration after : draft.rules.retests)
    if (!proof || *proof < returned + after) return returned + after;
  return std::nullopt;
}

void end_probation(const Deliberation& all, Draft& draft, const std::string& how) {
  draft.add(ActionKind::remove_taint, target_of(draft.node), how);
  draft.tell(target_of(draft.node), "ProbationEnded",
             "the probation of node " + draft.node.name + " ends: " + how, {}, false);
  end(all, draft, "probation over: " + how, ReportPhase::undone);
}

}  // namespace

void follow_probation(Deliberation& all, const Node& node, const LedgerEntry& entry) {
  Draft draft = draft_of(all, node, entry);
  if (!node.probation || node.probation->plan != entry.name) {
    end(all, draft, "its probation was ended by hand", ReportPhase::undone);
    return commit(all, std::move(draft));
  }
  if (draft.rules.mode == Mode::observe) return;
  const WallTime returned = entry.returned.value_or(entry.created);
  const WallTime until = returned + (draft.rules.retests.empty() ? Duration{0} : draft.rules.retests.back());
  const auto next = next_test(draft, returned);
  if (!next) {
    end_probation(all, draft, draft.rules.retests.empty() ? "the policy has none" : "every test has passed");
    return commit(all, std::move(draft));
  }
  if (all.now >= until + draft.rules.retest_patience) {
    end_probation(all, draft, "nothing came up, though nobody tested it");
    return commit(all, std::move(draft));
  }
  const Probation wanted{.plan = entry.name, .until = until, .next = *next};
  if (node.probation->until != until || node.probation->next != *next)
    draft.add(ActionKind::taint, target_of(node), "the next test of its probation").probation = wanted;
  if (all.now < *next) {
    all.wake(*next);
  } else {
    if (draft.rules.mode == Mode::act && node.verdict != Verdict::testing &&
        !doubt_of(node, draft.rules, all.now))
      ask_for_test(all, draft, "node " + node.name + " is on probation, and a test is due");
    all.wake(until + draft.rules.retest_patience);
  }
  mark_reports(all.world, draft, ReportPhase::undone);
  commit(all, std::move(draft));
}

void clear_probation(Deliberation& all, const Node& node) {
  const LedgerEntry* entry = all.world.entry(node.probation->plan);
  // Of a plan that nobody knows it is not ours.
  if (entry == nullptr || entry->node != node.name || all.rules_of(node).mode == Mode::observe) return;
  Draft draft = draft_of(all, node, *entry);
  draft.add(ActionKind::remove_taint, target_of(node), "its plan has ended");
  commit(all, std::move(draft));
}

}  // namespace autopilot::controller
