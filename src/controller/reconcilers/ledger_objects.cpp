// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/ledger_objects.hpp"

#include "controller/planner/words.hpp"

namespace autopilot::controller {
namespace {

void take_status(LedgerEntry& entry, const kube::PlanStatus& status) {
  // A word of a newer version: open, so that whoever knows it ends it.
  entry.phase = parse_phase(status.phase).value_or(Phase::waiting);
  entry.brake = status.brake;
  entry.message = status.message;
  entry.holds = status.holds;
  entry.is_released = status.is_released;
  entry.updated = status.updated.value_or(entry.created);
  entry.begun = status.begun;
  if (status.would_hold) {
    entry.holds = true;
    entry.begun = status.would_hold;
  }
  entry.returned = status.returned;
  entry.latest_evidence = status.latest_evidence.value_or(entry.latest_evidence);
  entry.evidence = status.evidence;
  entry.tests = status.tests;
  entry.jobs = status.jobs;
  entry.steps = status.steps;
  entry.budget = status.budget;
  entry.spare = status.spare;
  for (const kube::PlanStep& step : status.done)
    if (const auto kind = parse_action_kind(step.action))
      entry.done.push_back(
          {.kind = *kind, .target = step.target, .at = step.at, .is_counted = step.is_counted});
}

}  // namespace

LedgerEntry entry_fact(const kube::RemediationPlan& plan) {
  LedgerEntry entry;
  entry.name = plan.meta.name;
  entry.version = plan.meta.version;
  entry.node = plan.spec.node;
  entry.node_uid = plan.spec.node_uid;
  entry.pool = plan.spec.pool;
  entry.domain = plan.spec.domain;
  entry.cause = plan.spec.cause;
  entry.created = plan.spec.created;
  entry.updated = plan.spec.created;
  entry.evidence = plan.spec.evidence;
  entry.tests = plan.spec.tests;
  entry.jobs = plan.spec.jobs;
  entry.steps = plan.spec.steps;
  entry.budget = plan.spec.budget;
  if (plan.status) take_status(entry, *plan.status);
  return entry;
}

kube::PlanSpec plan_spec(const LedgerEntry& entry) {
  return {.node = entry.node,
          .node_uid = entry.node_uid,
          .pool = entry.pool,
          .domain = entry.domain,
          .cause = entry.cause,
          .created = entry.created,
          .evidence = entry.evidence,
          .tests = entry.tests,
          .jobs = entry.jobs,
          .steps = entry.steps,
          .budget = entry.budget};
}

kube::PlanStatus plan_status(const LedgerEntry& entry, std::string_view problem) {
  kube::PlanStatus status;
  status.phase = to_string(entry.phase);
  status.brake = entry.brake;
  status.message = entry.message;
  status.problem = problem;
  status.holds = entry.holds;
  status.is_released = entry.is_released;
  status.updated = entry.updated;
  status.begun = entry.begun;
  // It holds nothing, and counts against what is recorded alone.
  if (entry.phase == Phase::recorded) {
    status.would_hold = status.holds ? status.begun : std::nullopt;
    status.holds = false;
    status.begun.reset();
  }
  status.returned = entry.returned;
  status.latest_evidence = entry.latest_evidence;
  status.evidence = entry.evidence;
  status.tests = entry.tests;
  status.jobs = entry.jobs;
  status.steps = entry.steps;
  status.budget = entry.budget;
  status.spare = entry.spare;
  for (const DoneStep& step : entry.done)
    status.done.push_back({.action = std::string(to_string(step.kind)),
                           .target = step.target,
                           .at = step.at,
                           .is_counted = step.is_counted});
  return status;
}

}  // namespace autopilot::controller
