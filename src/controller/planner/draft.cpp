// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/draft.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/stable_hash.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::controller {

namespace {

bool passed_since(const Node& node, std::string_view test, WallTime time) {
  const auto at = node.passed.find(test);
  return at != node.passed.end() && at->second > time;
}

bool has_evidence(const LedgerEntry& plan, const std::string& name) {
  return std::ranges::find(plan.evidence, name) != plan.evidence.end();
}

// Another plan covers it: one report leads to one plan.
bool is_spent(const World& world, const Report& report, const LedgerEntry* open) {
  return std::ranges::any_of(world.plans_on(report.node), [&](const std::string& name) {
    const LedgerEntry* plan = world.entry(name);
    return plan != nullptr && (open == nullptr || plan->name != open->name) &&
           has_evidence(*plan, report.name);
  });
}

// A person has returned the node in spite of this cause.
bool is_waived(const World& world, const Node& node, const OpenCause& cause) {
  return std::ranges::any_of(world.plans_on(node.name), [&](const std::string& name) {
    const LedgerEntry* plan = world.entry(name);
    return plan != nullptr && plan->is_released && has_evidence(*plan, cause.incident);
  });
}

// One plan for each last fault: a lemon that was returned is held again only after another fault. A plan that
// was only recorded does not count where lemons are held, nor does a plan that ended before it held.
bool is_spent(const World& world, const Rules& rules, const Node& node, const OpenCause& lemon,
              const LedgerEntry* open) {
  const bool is_acted_on = rules.mode == Mode::act && rules.holds_lemons;
  return std::ranges::any_of(world.plans_on(node.name), [&](const std::string& name) {
    const LedgerEntry* plan = world.entry(name);
    if (plan == nullptr) return false;
    const bool is_own = open != nullptr && plan->name == open->name && plan->phase != Phase::probation;
    if (is_own) return false;
    const bool is_unused = plan->phase == Phase::over && !plan->begun && !plan->is_released;
    return has_evidence(*plan, lemon.incident) && !is_unused &&
           (plan->phase != Phase::recorded || !is_acted_on);
  });
}

const OpenCause* lemon_of(const World& world, const Rules& rules, const Node& node, const LedgerEntry* open,
                          WallTime now) {
  const OpenCause* lemon = world.lemon(node.name);
  if (lemon == nullptr || now - lemon->since > kLemonAge || is_spent(world, rules, node, *lemon, open))
    return nullptr;
  return lemon;
}

bool counts(const Node& node, const OpenCause& cause) {
  return cause.is_of_job || node.verdict == Verdict::evict;
}

}  // namespace

WallTime Evidence::first() const {
  WallTime first = WallTime::max();
  for (const Report* report : reports)
    first = std::min(first, report->time);
  for (const OpenCause* cause : causes)
    first = std::min(first, cause->since);
  return first;
}

WallTime Evidence::latest() const {
  WallTime latest = WallTime::min();
  for (const Report* report : reports)
    latest = std::max(latest, report->time);
  for (const OpenCause* cause : causes)
    latest = std::max(latest, cause->since);
  return latest;
}

bool Evidence::is_of_history() const {
  return reports.empty() && !causes.empty() &&
         std::ranges::none_of(causes, [](const OpenCause* cause) { return cause->lemon.empty(); });
}

Evidence evidence_of(const World& world, const Rules& rules, const Node& node, const LedgerEntry* open,
                     WallTime now) {
  Evidence evidence;
  for (const std::string& name : world.reports_on(node.name)) {
    const Report* report = world.report(name);
    if (report != nullptr && is_standing(*report, node, rules, now) && !is_spent(world, *report, open))
      evidence.reports.push_back(report);
  }
  const auto is_older = [](const Report* a, const Report* b) {
    return std::pair(a->time, a->name) < std::pair(b->time, b->name);
  };
  std::ranges::sort(evidence.reports, is_older);
  for (const OpenCause& cause : node.causes)
    if (counts(node, cause) && !is_waived(world, node, cause)) evidence.causes.push_back(&cause);
  if (const OpenCause* lemon = lemon_of(world, rules, node, open, now)) evidence.causes.push_back(lemon);
  return evidence;
}

bool is_disproven(const Report& report, const Node& node) {
  if (passed_since(node, incidents::kDeepTest, report.time)) return true;
  return !report.failed.empty() && std::ranges::all_of(report.failed, [&](const FailedTest& failed) {
    return passed_since(node, failed.test, report.time);
  });
}

bool is_standing(const Report& report, const Node& node, const Rules& rules, WallTime now) {
  return report.outcome == Outcome::failed && now - report.time <= rules.report_age &&
         !is_disproven(report, node);
}

bool is_evidence(const LedgerEntry& plan, const Node& node) {
  const auto is_counted = [&](const OpenCause& cause) { return counts(node, cause); };
  return std::ranges::any_of(node.causes, is_counted) &&
         std::ranges::all_of(node.causes, [&](const OpenCause& cause) {
           return !counts(node, cause) || has_evidence(plan, cause.incident);
         });
}

std::optional<Brake> doubt_of(const Node& node, const Rules& rules, WallTime now) {
  if (!node.verdict || !node.looked)
    return Brake{BrakeKind::unknown, "the health of node " + node.name + " is unknown"};
  if (node.is_unknown || node.verdict == Verdict::none)
    return Brake{BrakeKind::unknown, "a required check could not run on node " + node.name};
  if (*node.looked - now > rules.stale_after)
    return Brake{BrakeKind::stale, "the last report of node " + node.name +
                                       " has a time in the future: " + format_time(*node.looked)};
  if (now - *node.looked > rules.stale_after)
    return Brake{BrakeKind::stale, "the last report of node " + node.name + " is older than " +
                                       format_duration(rules.stale_after)};
  return std::nullopt;
}

bool awaits_history(const Deliberation& all, const Draft& draft) {
  const LedgerEntry& entry = draft.entry;
  return !draft.evidence.any() && entry.cause == kLemonCause && all.world.lemon(entry.node) == nullptr &&
         all.now - entry.latest_evidence <= kLemonAge &&
         !all.world.is_cleared_lemon(entry.node, entry.latest_evidence);
}

std::string sentence_of(const Evidence& evidence) {
  if (!evidence.reports.empty()) {
    const Report& report = *evidence.reports.front();
    const std::string pod = "pod " + report.pod_namespace + '/' + report.pod;
    if (report.failed.empty()) return "the pre-flight test of " + pod + " failed: " + report.message;
    const FailedTest& failed = report.failed.front();
    return failed.test + " failed for " + pod + ": " +
           (failed.message.empty() ? failed.reason : failed.message);
  }
  if (evidence.causes.empty()) return {};
  const OpenCause& cause = *evidence.causes.front();
  if (!cause.lemon.empty()) return cause.lemon;
  if (cause.is_of_job)
    return cause.cause + ": a job accuses " + cause.blamed + " (finding " + cause.incident + ')';
  return "verdict EVICT: " + cause.cause + " blames " + cause.blamed;
}

namespace {

constexpr std::size_t kLongestNode =
    200;  // of the node's part in the name of a plan, which has at most 253 bytes

std::string ten_digits(std::uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(10, '0');
  for (std::size_t i = 0; i < text.size(); ++i, number >>= 4U)
    text[i] = digits[number & 15U];
  return text;
}

std::string name_of(const Deliberation& all, const Node& node, const Evidence& evidence) {
  const std::string& first =
      evidence.reports.empty() ? evidence.causes.front()->incident : evidence.reports.front()->name;
  const std::string made_of =
      node.uid + '\n' + first + '\n' + std::to_string(all.world.plans_on(node.name).size());
  return node.name.substr(0, kLongestNode) + '-' + ten_digits(stable_hash(made_of).value());
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

bool is_step(ActionKind kind) {
  return kind != ActionKind::event && kind != ActionKind::mark_report;
}

std::string step_text(const PlannedAction& action) {
  std::string text(to_string(action.kind));
  if (action.kind == ActionKind::request) text += ' ' + std::string(to_string(action.request));
  text += ' ';
  if (!action.target.name_space.empty()) text += action.target.name_space + '/';
  return text + action.target.name;
}

std::vector<const Node*> nodes_of_concern(const World& world) {
  std::vector<const Node*> nodes;
  for (const std::string& name : world.of_concern())
    if (const Node* node = world.node(name)) nodes.push_back(node);
  return nodes;
}

}  // namespace

Deliberation::Deliberation(const World& the_world, const Policy& the_policy, WallTime the_time)
    : world(the_world),
      policy(the_policy),
      now(the_time),
      nodes(nodes_of_concern(the_world)),
      budget(the_world, the_policy, the_time, nodes) {}

void Deliberation::wake(WallTime at) {
  at = std::max(at, now + std::chrono::seconds{1});
  if (!plan.next || at < *plan.next) plan.next = at;
}

PlannedAction& Draft::add(ActionKind kind, Target target, std::string why) {
  PlannedAction& action = actions.emplace_back();
  action.kind = kind;
  action.target = std::move(target);
  action.why = std::move(why);
  action.plan = entry.name;
  return action;
}

bool Draft::moves(const Pod& pod) const {
  return std::ranges::any_of(actions, [&](const PlannedAction& action) {
    return is_removal(action.kind) && action.target.uid == pod.uid;
  });
}

void Draft::tell(const Target& target, std::string reason, std::string message, std::string about,
                 bool is_warning) {
  PlannedAction event;
  event.kind = ActionKind::event;
  event.target = target;
  event.why = std::move(message);
  event.plan = entry.name;
  event.reason = std::move(reason);
  event.about = std::move(about);
  event.is_warning = is_warning;
  const std::string key = event.target_key();
  const auto is_same = [&](const PlannedAction& action) {
    return action.kind == ActionKind::event && action.target_key() == key;
  };
  if (has_done(entry, ActionKind::event, key) || std::ranges::any_of(actions, is_same)) return;
  actions.push_back(std::move(event));
}

Target target_of(const Node& node) {
  return {.api_version = "v1",
          .kind = "Node",
          .name_space = {},
          .name = node.name,
          .uid = node.uid,
          .version = node.version};
}

Target target_of(const Pod& pod) {
  return {.api_version = "v1",
          .kind = "Pod",
          .name_space = pod.name_space,
          .name = pod.name,
          .uid = pod.uid,
          .version = {}};
}

Target target_of(const Owner& owner, std::string_view name_space) {
  return {.api_version = owner.api_version,
          .kind = owner.kind,
          .name_space = std::string(name_space),
          .name = owner.name,
          .uid = owner.uid,
          .version = {}};
}

Target target_of(const Report& report) {
  Target target;
  target.api_version = "autopilot.ibm.com/v1alpha1";
  target.kind = "HealthCheckReport";
  target.name = report.name;
  return target;
}

Target pod_of(const Report& report) {
  Pod pod;
  pod.name_space = report.pod_namespace;
  pod.name = report.pod;
  pod.uid = report.pod_uid;
  return target_of(pod);
}

Target ourselves() {
  Target target;
  target.kind = "Controller";
  return target;
}

Draft draft_of(const Deliberation& all, const Node& node, const LedgerEntry& before) {
  const Rules& rules = all.rules_of(node);
  return {.node = node,
          .rules = rules,
          .before = &before,
          .evidence = evidence_of(all.world, rules, node, &before, all.now),
          .entry = before};
}

namespace {

std::string cause_for_people(const Evidence& evidence) {
  if (evidence.reports.empty()) return evidence.causes.front()->cause;
  const Report& first = *evidence.reports.front();
  return first.failed.empty() ? "preflight" : first.failed.front().test;
}

}  // namespace

Draft new_draft(const Deliberation& all, const Node& node, Evidence evidence) {
  LedgerEntry entry;
  entry.name = name_of(all, node, evidence);
  entry.node = node.name;
  entry.node_uid = node.uid;
  entry.pool = node.pool;
  entry.domain = node.domain;
  entry.cause = cause_for_people(evidence);
  entry.latest_evidence = evidence.latest();
  entry.created = all.now;
  return {.node = node,
          .rules = all.rules_of(node),
          .before = nullptr,
          .evidence = std::move(evidence),
          .entry = std::move(entry)};
}

void take_evidence(Draft& draft) {
  LedgerEntry& entry = draft.entry;
  for (const Report* report : draft.evidence.reports) {
    note_evidence(entry, report->name);
    if (report->owner) note_job(entry, report->owner->uid);
    for (const FailedTest& failed : report->failed)
      add_once(entry.tests, failed.test);
  }
  for (const OpenCause* cause : draft.evidence.causes)
    note_evidence(entry, cause->incident);
  // A lemon that fails is a failed node: a test can prove its health.
  const bool has_failed = draft.evidence.any() && !draft.evidence.is_of_history();
  if (entry.cause == kLemonCause && has_failed) entry.cause = cause_for_people(draft.evidence);
  if (draft.evidence.any()) entry.latest_evidence = std::max(entry.latest_evidence, draft.evidence.latest());
}

void mark_reports(const World& world, Draft& draft, ReportPhase phase) {
  for (const std::string& name : draft.entry.evidence) {
    const Report* report = world.report(name);
    if (report == nullptr || report->phase == phase) continue;
    draft.add(ActionKind::mark_report, target_of(*report), draft.entry.message).report_phase = phase;
  }
}

void end(const Deliberation& all, Draft& draft, std::string message, ReportPhase reports) {
  draft.entry.phase = Phase::over;
  draft.entry.holds = false;
  draft.entry.brake.clear();
  draft.entry.message = std::move(message);
  mark_reports(all.world, draft, reports);
}

void commit(Deliberation& all, Draft draft) {
  LedgerEntry& entry = draft.entry;
  for (PlannedAction& action : draft.actions) {
    action.evidence = entry.evidence;
    action.budget = entry.budget;
    if (is_step(action.kind)) add_once(entry.steps, step_text(action));
  }
  if (entry.steps.size() > LedgerEntry::kMaxSteps) entry.steps.resize(LedgerEntry::kMaxSteps);
  Decision decision;
  decision.is_changed = draft.before == nullptr || !(*draft.before == entry);
  if (decision.is_changed) entry.updated = all.now;
  if (!decision.is_changed && draft.actions.empty()) return;
  decision.entry = std::move(entry);
  decision.actions = std::move(draft.actions);
  all.plan.decisions.push_back(std::move(decision));
}

}  // namespace autopilot::controller
