// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/probation.hpp"

#include <algorithm>

#include "controller/planner/returns.hpp"

namespace autopilot::controller {
namespace {

// The first test that is due and was not passed; nothing: all were.
std::optional<WallTime> next_test(const Node& node, const LedgerEntry& entry, const Rules& rules,
                                  WallTime returned) {
  const auto proof = last_proof(node, entry, rules);
  for (const Duration after : rules.retests)
    if (!proof || *proof < returned + after) return returned + after;
  return std::nullopt;
}

void end_probation(const Deliberation& all, Draft& draft, const std::string& how) {
  draft.add(ActionKind::remove_taint, target_of(draft.node), how);
  draft.tell(target_of(draft.node), "ProbationEnded",
             "the probation of node " + draft.node.name + " ends: " + how, {}, false);
  end(all, draft, "probation over: " + how, ReportPhase::undone);
}

bool is_marked_undone(const World& world, const LedgerEntry& entry) {
  return std::ranges::all_of(entry.evidence, [&](const std::string& name) {
    const Report* report = world.report(name);
    return report == nullptr || report->phase == ReportPhase::undone;
  });
}

void go_on(Deliberation& all, Draft& draft, const Probation& wanted) {
  const Node& node = draft.node;
  if (node.probation != wanted)
    draft.add(ActionKind::taint, target_of(node), "the next test of its probation").probation = wanted;
  if (all.now < wanted.next) {
    all.wake(wanted.next);
  } else {
    if (draft.rules.mode == Mode::act && node.verdict != Verdict::testing &&
        !doubt_of(node, draft.rules, all.now))
      ask_for_test(all, draft, "node " + node.name + " is on probation, and a test is due");
    all.wake(wanted.until + draft.rules.retest_patience);
  }
  mark_reports(all.world, draft, ReportPhase::undone);
}

}  // namespace

void follow_probation(Deliberation& all, const Node& node, const LedgerEntry& entry) {
  const Rules& rules = all.rules_of(node);
  const bool is_marked = node.probation && node.probation->plan == entry.name;
  if (is_marked && rules.mode == Mode::observe) return;
  const WallTime returned = entry.returned.value_or(entry.created);
  const WallTime until = returned + (rules.retests.empty() ? Duration{0} : rules.retests.back());
  const auto next = next_test(node, entry, rules, returned);
  const Probation wanted{.plan = entry.name, .until = until, .next = next.value_or(until)};
  // As nearly always: so no draft of it is made.
  const bool is_as_wanted = next && node.probation == wanted;
  if (is_as_wanted && all.now < wanted.next && is_marked_undone(all.world, entry))
    return all.wake(wanted.next);

  Draft draft = draft_of(all, node, entry);
  if (!is_marked) {
    end(all, draft, "its probation was ended by hand", ReportPhase::undone);
  } else if (!next) {
    end_probation(all, draft, rules.retests.empty() ? "the policy has none" : "every test has passed");
  } else if (all.now >= until + rules.retest_patience) {
    end_probation(all, draft, "nothing came up, though nobody tested it");
  } else {
    go_on(all, draft, wanted);
  }
  commit(all, std::move(draft));
}

void clear_probation(Deliberation& all, const Node& node) {
  const LedgerEntry* entry = node.probation ? all.world.entry(node.probation->plan) : nullptr;
  // Of a plan that nobody knows it is not ours.
  if (entry == nullptr || entry->node != node.name || all.rules_of(node).mode == Mode::observe) return;
  Draft draft = draft_of(all, node, *entry);
  draft.add(ActionKind::remove_taint, target_of(node), "its plan has ended");
  commit(all, std::move(draft));
}

}  // namespace autopilot::controller
