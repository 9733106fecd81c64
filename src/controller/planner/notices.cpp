// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/notices.hpp"

namespace autopilot::controller {
namespace {

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

// What could not be looked at is not failed: nothing is done about it.
Decision notice_of(const Report& report, const Rules& rules) {
  std::string message = "the pre-flight test of pod " + report.pod + " on node " + report.node;
  if (report.outcome == Outcome::started)
    message += " is not complete, and the pod starts";
  else
    message += rules.could_not_look == CouldNotLook::start ? " could not be made, and the pod starts"
                                                           : " could not be made, and the pod does not start";
  if (!report.message.empty()) message += ": " + report.message;
  Decision decision;
  decision.actions.push_back(event_of(report, pod_of(report), message));
  if (report.owner)
    decision.actions.push_back(event_of(report, target_of(*report.owner, report.pod_namespace), message));
  decision.actions.push_back(mark_of(report, ReportPhase::acted, "told"));
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

}  // namespace

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

}  // namespace autopilot::controller
