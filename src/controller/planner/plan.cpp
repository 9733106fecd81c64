// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "controller/planner/budget.hpp"
#include "controller/planner/draft.hpp"
#include "controller/planner/holds.hpp"
#include "controller/planner/returns.hpp"

namespace autopilot::controller {

std::string PlannedAction::target_key() const {
  switch (kind) {
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
      return target.uid;
    case ActionKind::request:
      return std::string(to_string(request));
    case ActionKind::event:
      return reason + ' ' + target.kind + '/' + target.name_space + '/' + target.name +
             (about.empty() ? "" : ' ' + about);
    default:
      return target.name;
  }
}

bool is_noted(ActionKind kind) {
  switch (kind) {
    case ActionKind::cordon:
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
    case ActionKind::deep_test:
    case ActionKind::request:
    case ActionKind::event:
      return true;
    default:
      return false;
  }
}

namespace {

// Nodes to hold, if the budgets allow it; their order is decided when all are known.
using Candidates = std::vector<Draft>;

std::string fault_of_world(const World& world, const Policy& policy, WallTime now) {
  if (!world.is_complete) return "not every kind of object of the cluster has been read yet";
  if (now - world.as_of > policy.rules.stale_after)
    return "the snapshot of the cluster is older than " + format_duration(policy.rules.stale_after);
  return {};
}

// The plan that the annotation of the node names, in any phase; otherwise the open plan before probation,
// otherwise the oldest.
const LedgerEntry* plan_of(const World& world, const Node& node) {
  if (node.held)
    if (const LedgerEntry* holder = world.entry(node.held->plan);
        holder != nullptr && holder->node == node.name)
      return holder;
  const LedgerEntry* best = nullptr;
  const auto rank = [](const LedgerEntry& entry) {
    return std::tuple(entry.phase == Phase::probation, entry.created, std::string_view(entry.name));
  };
  for (const std::string& name : world.plans_on(node.name)) {
    const LedgerEntry* entry = world.entry(name);
    if (entry == nullptr || !is_open(entry->phase)) continue;
    if (best == nullptr || rank(*entry) < rank(*best)) best = entry;
  }
  return best;
}

void end_entry(Deliberation& all, const Node& node, const LedgerEntry& entry, const char* why,
               ReportPhase reports) {
  Draft draft = draft_of(all, node, entry);
  end(all, draft, why, reports);
  commit(all, std::move(draft));
}

// Ends plans whose node is gone, was recreated, or has another plan.
void end_others(Deliberation& all, const std::string& name, const Node* node, const LedgerEntry* own) {
  for (const std::string& plan : all.world.plans_on(name)) {
    const LedgerEntry* entry = all.world.entry(plan);
    if (entry == nullptr || !is_open(entry->phase) || entry == own) continue;
    const Node gone{
        .name = entry->node, .uid = entry->node_uid, .version = {}, .pool = entry->pool, .domain = {}};
    if (node == nullptr || entry->node_uid != node->uid)
      end_entry(all, gone, *entry, "the node is gone", ReportPhase::expired);
    else
      end_entry(all, *node, *entry, "the node has another plan", ReportPhase::acted);
  }
}

bool is_recorded(const World& world, const Node& node) {
  return std::ranges::any_of(world.plans_on(node.name), [&](const std::string& name) {
    const LedgerEntry* entry = world.entry(name);
    return entry != nullptr && entry->phase == Phase::recorded && is_evidence(*entry, node);
  });
}

// A plan for new evidence; nullopt: none.
std::optional<Draft> new_plan(const Deliberation& all, const Node& node, const LedgerEntry* probation) {
  Evidence evidence = evidence_of(all.world, all.rules_of(node), node, probation, all.now);
  if (!evidence.any()) return std::nullopt;
  const Mode mode = all.rules_of(node).mode;
  if (evidence.reports.empty() && mode != Mode::act && is_recorded(all.world, node)) return std::nullopt;
  return new_draft(all, node, std::move(evidence));
}

void follow_probation_or_fall_back(Deliberation& all, const Node& node, const LedgerEntry& entry,
                                   Candidates& candidates) {
  auto again = new_plan(all, node, &entry);
  if (again && acts_on(again->evidence, again->rules)) {
    end_entry(all, node, entry, "the node failed again", ReportPhase::undone);
    candidates.push_back(std::move(*again));
    return;
  }
  follow_probation(all, node, entry);
  if (again) candidates.push_back(std::move(*again));
}

void follow(Deliberation& all, const Node& node, const LedgerEntry& entry, Candidates& candidates) {
  if (is_held_by(node, entry)) return follow_hold(all, node, entry);
  switch (entry.phase) {
    case Phase::waiting:
      candidates.push_back(draft_of(all, node, entry));
      return;
    case Phase::executing:
    case Phase::held:
      return follow_hold(all, node, entry);
    case Phase::undoing:
      return follow_return(all, node, entry);
    case Phase::probation:
      return follow_probation_or_fall_back(all, node, entry, candidates);
    case Phase::recorded:
    case Phase::over:
      return;
  }
}

void look_at(Deliberation& all, const std::string& name, Candidates& candidates) {
  ++all.plan.cost.nodes;
  const Node* node = all.world.node(name);
  const LedgerEntry* own = node == nullptr ? nullptr : plan_of(all.world, *node);
  if (own != nullptr && own->node_uid != node->uid) own = nullptr;
  end_others(all, name, node, own);
  if (node == nullptr) return;
  if (own != nullptr) return follow(all, *node, *own, candidates);
  if (node->probation) clear_probation(all, *node);
  if (auto made = new_plan(all, *node, nullptr)) candidates.push_back(std::move(*made));
}

// Failed tests come before passive findings, then older before newer evidence.
void decide_all(Deliberation& all, Candidates& candidates) {
  std::vector<std::tuple<bool, WallTime, std::string, std::size_t>> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Evidence& evidence = candidates[i].evidence;
    order.emplace_back(evidence.reports.empty(), evidence.first(), candidates[i].node.name, i);
  }
  std::ranges::sort(order);
  for (const auto& place : order)
    decide(all, std::move(candidates[std::get<3>(place)]));
}

PlannedAction event_of(const Report& report, Target target, std::string message) {
  PlannedAction event;
  event.kind = ActionKind::event;
  event.target = std::move(target);
  event.reason = report.outcome == Outcome::started ? "PreflightNotWaitedFor" : "PreflightNotTested";
  event.why = std::move(message);
  event.about = report.name;
  event.evidence = {report.name};
  return event;
}

PlannedAction mark_of(const Report& report, ReportPhase phase, std::string why) {
  PlannedAction mark;
  mark.kind = ActionKind::mark_report;
  mark.target = target_of(report);
  mark.report_phase = phase;
  mark.why = std::move(why);
  mark.evidence = {report.name};
  return mark;
}

// A test that could not run has not failed: the notice has no consequences.
Decision notice_of(const Report& report, const Rules& rules) {
  std::string message = "the pre-flight test of pod " + report.pod + " on node " + report.node;
  if (report.outcome == Outcome::started)
    message += " has not finished, and the pod starts";
  else
    message += rules.could_not_look == CouldNotLook::start ? " could not run, and the pod starts"
                                                           : " could not run, and the pod does not start";
  if (!report.message.empty()) message += ": " + report.message;
  Decision decision;
  decision.actions.push_back(event_of(report, pod_of(report), message));
  if (report.owner)
    decision.actions.push_back(event_of(report, target_of(*report.owner, report.pod_namespace), message));
  decision.actions.push_back(mark_of(report, ReportPhase::acted, "reported in an Event"));
  return decision;
}

bool is_of_open_plan(const World& world, const Report& report) {
  for (const std::string& name : world.plans_on(report.node)) {
    const LedgerEntry* plan = world.entry(name);
    if (plan == nullptr || !is_open(plan->phase)) continue;
    for (const std::string& evidence : plan->evidence)
      if (evidence == report.name) return true;
  }
  return false;
}

// Handles reports that lead to no plan: Events for tests that could not run or were not waited for, and the
// end of failed reports that are no longer evidence.
void tell_of_reports(Deliberation& all) {
  for (const std::string& name : all.world.pending_reports()) {
    const Report* report = all.world.report(name);
    if (report == nullptr) continue;
    const Node* node = all.world.node(report->node);
    const Rules& rules = node == nullptr ? all.policy.rules : all.rules_of(*node);
    if (report->outcome != Outcome::failed) {
      all.plan.decisions.push_back(notice_of(*report, rules));
      continue;
    }
    const bool proves = node != nullptr ? is_standing(*report, *node, rules, all.now)
                                        : all.now - report->time <= rules.report_age;
    if (proves || is_of_open_plan(all.world, *report)) continue;
    Decision decision;
    decision.actions.push_back(
        mark_of(*report, ReportPhase::expired, "it is too old, or the test has passed since"));
    all.plan.decisions.push_back(std::move(decision));
  }
}

// Permits deep diagnostics to agents that requested one, in every mode, because the agent runs it, within the
// limits of a pool and of a failure domain. The longest wait comes first. Held nodes always get it, because
// they are not in service.
void grant_tests(Deliberation& all) {
  std::map<std::string, int, std::less<>> in_pool;
  std::map<std::string, int, std::less<>> in_domain;
  std::vector<const Node*> asking;
  const auto take = [&](const Node& node) {
    ++in_pool[node.pool];
    if (!node.domain.empty()) ++in_domain[node.domain];
  };
  for (const Node* node : all.nodes) {
    if (node->held) {
      if (node->wants_test) all.plan.may_test.push_back(node->name);
    } else if (node->verdict == Verdict::testing || node->granted_test) {
      take(*node);
    } else if (node->wants_test) {
      asking.push_back(node);
    }
  }
  std::ranges::sort(asking, [](const Node* a, const Node* b) {
    return std::pair(*a->wants_test, a->name) < std::pair(*b->wants_test, b->name);
  });
  for (const Node* node : asking) {
    const int percent = all.rules_of(*node).testing_percent;
    if (in_pool[node->pool] >= share_of(all.world.in_pool(node->pool).size(), percent)) continue;
    if (!node->domain.empty() &&
        in_domain[node->domain] >= share_of(all.world.in_domain(node->domain).size(), percent))
      continue;
    take(*node);
    all.plan.may_test.push_back(node->name);
  }
}

}  // namespace

Plan plan(const World& world, const Policy& policy, WallTime now) {
  if (std::string fault = fault_of_world(world, policy, now); !fault.empty()) {
    Plan none;
    none.brake = std::move(fault);
    return none;
  }
  Deliberation all(world, policy, now);
  all.plan.breakers = tripped_breakers(world, policy, all.nodes);
  tell_of_reports(all);
  Candidates candidates;
  for (const std::string& name : world.of_concern())
    look_at(all, name, candidates);
  decide_all(all, candidates);
  grant_tests(all);
  all.plan.cost.plans = all.budget.plans_looked_at();
  return std::move(all.plan);
}

namespace {

void change_node(World& world, const PlannedAction& action, WallTime now) {
  const Node* old = world.node(action.target.name);
  if (old == nullptr) return;
  Node node = *old;
  switch (action.kind) {
    case ActionKind::cordon:
      node.is_unschedulable = true;
      node.held = Hold{.plan = action.plan, .since = now};
      break;
    case ActionKind::uncordon:
      node.is_unschedulable = false;
      node.held.reset();
      break;
    case ActionKind::release:
      node.held.reset();
      break;
    case ActionKind::taint:
      node.probation = action.probation;
      break;
    case ActionKind::remove_taint:
      node.probation.reset();
      break;
    default:
      return;
  }
  world.put(std::move(node));
}

}  // namespace

void apply(World& world, const PlannedAction& action, WallTime now) {
  if (action.is_recorded_only) return;
  switch (action.kind) {
    case ActionKind::evict_pod:
    case ActionKind::delete_pod:
      world.remove_pod(action.target.uid);
      return;
    case ActionKind::mark_report:
      if (const Report* old = world.report(action.target.name)) {
        Report report = *old;
        report.phase = action.report_phase;
        world.put(std::move(report));
      }
      return;
    default:
      change_node(world, action, now);
  }
}

void apply(World& world, const Decision& decision, WallTime now) {
  const bool is_end = decision.entry && decision.entry->phase == Phase::over;
  if (decision.entry && !is_end) world.put(*decision.entry);
  std::optional<LedgerEntry> noted = decision.entry;
  for (const PlannedAction& action : decision.actions) {
    apply(world, action, now);
    if (!noted || !is_noted(action.kind) || action.is_recorded_only) continue;
    noted->updated = now;
    note_done(
        *noted,
        DoneStep{
            .kind = action.kind, .target = action.target_key(), .at = now, .is_counted = action.is_counted});
  }
  if (noted) world.put(std::move(*noted));
}

}  // namespace autopilot::controller
