// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/facts.hpp"

#include <algorithm>

#include "core/word_table.hpp"

namespace autopilot::controller {

namespace {

constexpr WordTable<Mode, 3> kModes{{{Mode::observe, "observe"}, {Mode::hold, "hold"}, {Mode::act, "act"}}};

constexpr WordTable<Phase, 7> kPhases{{
    {Phase::recorded, "recorded"},
    {Phase::waiting, "waiting"},
    {Phase::executing, "executing"},
    {Phase::held, "held"},
    {Phase::undoing, "undoing"},
    {Phase::probation, "probation"},
    {Phase::over, "over"},
}};

constexpr WordTable<ActionKind, 11> kActionKinds{{
    {ActionKind::cordon, "cordon"},
    {ActionKind::uncordon, "uncordon"},
    {ActionKind::release, "release"},
    {ActionKind::taint, "taint"},
    {ActionKind::remove_taint, "remove_taint"},
    {ActionKind::evict_pod, "evict_pod"},
    {ActionKind::delete_pod, "delete_pod"},
    {ActionKind::deep_test, "deep_test"},
    {ActionKind::request, "request"},
    {ActionKind::event, "event"},
    {ActionKind::mark_report, "mark_report"},
}};

constexpr WordTable<Outcome, 3> kOutcomes{{{Outcome::started, "started"},
                                           {Outcome::failed, "failed"},
                                           {Outcome::could_not_look, "could_not_look"}}};

constexpr WordTable<ReportPhase, 5> kReportPhases{{
    {ReportPhase::pending, "Pending"},
    {ReportPhase::planned, "Planned"},
    {ReportPhase::acted, "Acted"},
    {ReportPhase::undone, "Undone"},
    {ReportPhase::expired, "Expired"},
}};

constexpr WordTable<BrakeKind, 10> kBrakeKinds{{
    {BrakeKind::breaker, "breaker"},
    {BrakeKind::unknown, "unknown"},
    {BrakeKind::stale, "stale"},
    {BrakeKind::pool_budget, "pool_budget"},
    {BrakeKind::domain_budget, "domain_budget"},
    {BrakeKind::job_budget, "job_budget"},
    {BrakeKind::rate, "rate"},
    {BrakeKind::settling, "settling"},
    {BrakeKind::others_cordon, "others_cordon"},
    {BrakeKind::exempt, "exempt"},
}};

}  // namespace

std::string_view to_string(Mode mode) {
  return word_of(kModes, mode);
}
std::optional<Mode> parse_mode(std::string_view word) {
  return value_of(kModes, word);
}
std::string_view to_string(Phase phase) {
  return word_of(kPhases, phase);
}
std::optional<Phase> parse_phase(std::string_view word) {
  return value_of(kPhases, word);
}
std::string_view to_string(ActionKind kind) {
  return word_of(kActionKinds, kind);
}
std::optional<ActionKind> parse_action_kind(std::string_view word) {
  return value_of(kActionKinds, word);
}
std::string_view to_string(Outcome outcome) {
  return word_of(kOutcomes, outcome);
}
std::optional<Outcome> parse_outcome(std::string_view word) {
  return value_of(kOutcomes, word);
}
std::string_view to_string(ReportPhase phase) {
  return word_of(kReportPhases, phase);
}
std::optional<ReportPhase> parse_report_phase(std::string_view word) {
  return value_of(kReportPhases, word);
}
std::string_view to_string(BrakeKind kind) {
  return word_of(kBrakeKinds, kind);
}

bool has_done(const LedgerEntry& entry, ActionKind kind, std::string_view target) {
  return std::ranges::any_of(
      entry.done, [&](const DoneStep& step) { return step.kind == kind && step.target == target; });
}

std::optional<WallTime> last_done(const LedgerEntry& entry, ActionKind kind) {
  std::optional<WallTime> last;
  for (const DoneStep& step : entry.done)
    if (step.kind == kind && (!last || step.at > *last)) last = step.at;
  return last;
}

void note_done(LedgerEntry& entry, DoneStep step) {
  std::erase_if(entry.done,
                [&](const DoneStep& old) { return old.kind == step.kind && old.target == step.target; });
  if (entry.done.size() >= LedgerEntry::kMaxDone) entry.done.erase(entry.done.begin());
  entry.done.push_back(std::move(step));
}

void note_evidence(LedgerEntry& entry, std::string_view name) {
  if (std::ranges::find(entry.evidence, name) != entry.evidence.end()) return;
  if (entry.evidence.size() >= LedgerEntry::kMaxEvidence) entry.evidence.erase(entry.evidence.begin() + 1);
  entry.evidence.emplace_back(name);
}

void note_job(LedgerEntry& entry, std::string_view uid) {
  if (std::ranges::find(entry.jobs, uid) != entry.jobs.end()) return;
  if (entry.jobs.size() < LedgerEntry::kMaxJobs) entry.jobs.emplace_back(uid);
}

}  // namespace autopilot::controller
