// SPDX-License-Identifier: Apache-2.0
#include "controller/steps/object_steps.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "kube/remediation.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

json::object precondition(const PlannedAction& action) {
  return {{"preconditions", json::object{{"uid", action.target.uid}}}};
}

std::string pod_path(const Target& target) {
  return "/api/v1/namespaces/" + target.name_space + "/pods/" + target.name;
}

// Action words have underscores, names of objects do not.
std::string name_of(const PlannedAction& action) {
  std::string name = action.plan + '-' + std::string(to_string(action.request));
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

Write remove_pod_step(const PlannedAction& action) {
  if (action.kind == ActionKind::delete_pod)
    return {Write::Method::remove, pod_path(action.target), json::serialize(precondition(action))};
  const json::object eviction{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", json::object{{"name", action.target.name}, {"namespace", action.target.name_space}}},
      {"deleteOptions", precondition(action)}};
  return {Write::Method::create, pod_path(action.target) + "/eviction", json::serialize(eviction)};
}

Write mark_report_step(const PlannedAction& action, kube::HealthCheckReport report,
                       const std::string& name_space, WallTime now) {
  report.phase = kube::parse_report_phase(to_string(action.report_phase)).value_or(report.phase);
  report.said = action.why;
  if (!action.plan.empty()) report.plan = action.plan;
  if (action.report_phase == ReportPhase::acted && !report.acted) report.acted = now;
  if (action.report_phase == ReportPhase::undone && !report.undone) report.undone = now;
  return {Write::Method::merge_patch,
          kube::health_check_reports_path(name_space) + '/' + report.meta.name + "/status",
          kube::health_check_status_patch(report)};
}

Write request_step(const PlannedAction& action, const kube::RemediationPlan& plan, const Node* node,
                   const std::string& name_space, WallTime now) {
  kube::RequestSpec spec{.node = action.target.name,
                         .node_uid = action.target.uid,
                         .action = std::string(to_string(action.request)),
                         .subject = {},
                         .plan = action.plan,
                         .incident = {},
                         .message = action.why,
                         .created = now};
  if (node != nullptr) {
    const auto cause = std::ranges::find(node->causes, action.request, &OpenCause::action);
    if (cause != node->causes.end()) {
      spec.subject = cause->blamed;
      spec.incident = cause->incident;
    }
  }
  return {Write::Method::create, kube::remediation_requests_path(name_space),
          kube::remediation_request_json(name_of(action), spec, plan.meta)};
}

kube::EventFact event_fact(const PlannedAction& action, const std::string& name_space) {
  const Target& target = action.target;
  kube::EventFact fact;
  fact.object = {target.api_version, target.kind, target.name_space, target.name, target.uid};
  if (target.kind == "Controller")
    fact.object = {"apps/v1", "Deployment", name_space, "autopilot-controller", ""};
  fact.type = action.is_warning ? kube::EventType::warning : kube::EventType::normal;
  fact.reason = action.reason;
  fact.message = action.why;
  return fact;
}

}  // namespace autopilot::controller
