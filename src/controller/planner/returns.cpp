// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/returns.hpp"

#include <algorithm>

#include "controller/planner/budget.hpp"
#include "controller/planner/removals.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::controller {

namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

void file_requests(Draft& draft) {
  for (const OpenCause& cause : draft.node.causes) {
    const bool is_allowed =
        std::ranges::find(draft.rules.requests, cause.action) != draft.rules.requests.end();
    if (!is_allowed || has_done(draft.entry, ActionKind::request, to_string(cause.action))) continue;
    const bool is_asked = std::ranges::any_of(draft.actions, [&](const PlannedAction& action) {
      return action.kind == ActionKind::request && action.request == cause.action;
    });
    if (is_asked) continue;
    draft.add(ActionKind::request, target_of(draft.node), cause.cause + " blames " + cause.blamed).request =
        cause.action;
  }
}

bool is_held_lemon(const Deliberation& all, const Draft& draft) {
  return draft.entry.cause == kLemonCause &&
         !all.world.is_cleared_lemon(draft.node.name, draft.entry.latest_evidence);
}

// One test of a lemon can find the faulty part; repetitions would only load it.
bool needs_no_further_test(const Deliberation& all, const Draft& draft) {
  const auto proof = last_proof(draft.node, draft.entry, draft.rules);
  return is_held_lemon(all, draft) && proof && draft.entry.begun && *proof > *draft.entry.begun;
}

// A test is meaningful: none is running, and no passive fault would make it fail.
bool is_ready_for_test(const Deliberation& all, const Draft& draft) {
  const Node& node = draft.node;
  const bool has_passive_cause =
      std::ranges::any_of(node.causes, [](const OpenCause& cause) { return cause.is_passive; });
  return node.is_ready && node.verdict != Verdict::testing && !has_passive_cause &&
         !needs_no_further_test(all, draft) && !doubt_of(node, draft.rules, all.now);
}

void give_back(const Deliberation& all, Draft& draft) {
  const std::string why = "node " + draft.node.name + " has passed its test";
  draft.entry.phase = Phase::undoing;
  draft.entry.message = why;
  if (!draft.rules.retests.empty()) {
    PlannedAction& taint = draft.add(ActionKind::taint, target_of(draft.node), why);
    taint.undo = "remove_taint, at the end of the probation";
    taint.probation = Probation{.plan = draft.entry.name,
                                .until = all.now + draft.rules.retests.back(),
                                .next = all.now + draft.rules.retests.front()};
  }
  draft.add(ActionKind::uncordon, target_of(draft.node), why);
  draft.tell(target_of(draft.node), "NodeReturned", why + ": given back", {}, false);
}

}  // namespace

void ask_for_test(Deliberation& all, Draft& draft, std::string why) {
  const auto last = last_done(draft.entry, ActionKind::deep_test);
  if (last && all.now - *last < draft.rules.test_every) return all.wake(*last + draft.rules.test_every);
  draft.add(ActionKind::deep_test, target_of(draft.node), std::move(why));
  all.wake(all.now + draft.rules.test_every);
}

std::optional<WallTime> last_proof(const Node& node, const LedgerEntry& entry, const Rules& rules) {
  std::optional<WallTime> last;
  if (const auto at = node.passed.find(incidents::kDeepTest); at != node.passed.end()) last = at->second;
  if (rules.proof == Proof::deep_test || entry.tests.empty()) return last;
  std::optional<WallTime> oldest;
  for (const std::string& test : entry.tests) {
    const auto at = node.passed.find(test);
    if (at == node.passed.end()) return last;
    oldest = std::min(oldest.value_or(at->second), at->second);
  }
  return last ? std::max(*last, *oldest) : *oldest;
}

std::optional<std::string> missing_proof(const Deliberation& all, const Draft& draft) {
  const Node& node = draft.node;
  if (const auto doubt = doubt_of(node, draft.rules, all.now)) return doubt->why;
  if (!node.causes.empty()) return node.causes.front().cause + " blames " + node.causes.front().blamed;
  if (node.verdict == Verdict::evict) return "its verdict is EVICT until a deep test has passed";
  if (node.verdict == Verdict::testing) return "a test is running";
  if (is_held_lemon(all, draft)) {
    const bool is_known = all.world.lemon(draft.node.name) != nullptr;
    return std::string(is_known
                           ? "its history predicts further faults, whatever a test finds"
                           : "it was called a lemon, and the history of the controller does not have its "
                             "faults to decide again") +
           "; a person returns it (kubectl uncordon)";
  }
  const auto proof = last_proof(node, draft.entry, draft.rules);
  // A report without the failed tests is only disproven by a deep diagnostic.
  const auto& reports = draft.evidence.reports;
  const bool are_named =
      std::ranges::none_of(reports, [](const Report* report) { return report->failed.empty(); });
  if (proof && *proof > draft.entry.latest_evidence && reports.empty()) return std::nullopt;
  const bool takes_tests =
      draft.rules.proof == Proof::failed_tests && !draft.entry.tests.empty() && are_named;
  return "no test has passed since; needed: " +
         (takes_tests ? join(draft.entry.tests) + " on all its GPUs, or a deep test" : "a deep test");
}

void give_back_or_test(Deliberation& all, Draft& draft) {
  const auto missing = missing_proof(all, draft);
  if (!missing) return give_back(all, draft);
  if (!draft.is_pending) draft.entry.message = "held: " + *missing;
  if (draft.rules.mode != Mode::act || draft.is_pending) return;
  if (!is_empty_of_jobs(all.world, draft.node)) return;
  const bool is_cluster_wide = tripped_in(all.plan.breakers, draft.node.pool) != nullptr;
  if (!is_cluster_wide && !doubt_of(draft.node, draft.rules, all.now)) file_requests(draft);
  if (is_ready_for_test(all, draft))
    ask_for_test(all, draft, "node " + draft.node.name + " is held: " + *missing);
}

void follow_return(Deliberation& all, const Node& node, const LedgerEntry& entry) {
  Draft draft = draft_of(all, node, entry);
  draft.entry.holds = false;
  draft.entry.returned = all.now;
  if (node.probation && node.probation->plan == entry.name) {
    draft.entry.phase = Phase::probation;
    draft.entry.message = "given back, on probation";
    mark_reports(all.world, draft, ReportPhase::undone);
    all.wake(node.probation->next);
  } else {
    end(all, draft, entry.is_released ? "given back by hand" : "given back", ReportPhase::undone);
  }
  commit(all, std::move(draft));
}

namespace {

// The first due test that has not passed; nullopt: all have.
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
  // The common case needs no draft.
  const bool is_as_wanted = next && node.probation == wanted;
  if (is_as_wanted && all.now < wanted.next && is_marked_undone(all.world, entry))
    return all.wake(wanted.next);

  Draft draft = draft_of(all, node, entry);
  if (!is_marked) {
    end(all, draft, "its probation was ended by hand", ReportPhase::undone);
  } else if (!next) {
    end_probation(all, draft, rules.retests.empty() ? "the policy has none" : "every test has passed");
  } else if (all.now >= until + rules.retest_patience) {
    end_probation(all, draft, "no new fault, although no test ran");
  } else {
    go_on(all, draft, wanted);
  }
  commit(all, std::move(draft));
}

void clear_probation(Deliberation& all, const Node& node) {
  const LedgerEntry* entry = node.probation ? all.world.entry(node.probation->plan) : nullptr;
  // The marks of an unknown plan are not ours.
  if (entry == nullptr || entry->node != node.name || all.rules_of(node).mode == Mode::observe) return;
  Draft draft = draft_of(all, node, *entry);
  draft.add(ActionKind::remove_taint, target_of(node), "its plan has ended");
  commit(all, std::move(draft));
}

}  // namespace autopilot::controller
