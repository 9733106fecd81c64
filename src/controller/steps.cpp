// SPDX-License-Identifier: Apache-2.0

#include "controller/steps.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "kube/objects.hpp"
#include "kube/remediation.hpp"

namespace autopilot::controller {

net::Exchange send(kube::Client& client, const Write& write, kube::OnObject on_answer) {
  switch (write.method) {
    case Write::Method::create:
      return client.create({write.path, {}}, write.body, std::move(on_answer));
    case Write::Method::merge_patch:
      return client.patch({write.path, {}}, kube::Patch::merge, write.body, std::move(on_answer));
    case Write::Method::remove:
      return client.remove({write.path, {}}, write.body, std::move(on_answer));
    case Write::Method::get:
      break;
  }
  return client.get({write.path, {}}, std::move(on_answer));
}

namespace json = boost::json;

namespace {

// Empty if the text is not a JSON object.
json::object object_of(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  json::object* object = error ? nullptr : value.if_object();
  return object == nullptr ? json::object() : std::move(*object);
}

// Empty if the member is missing.
std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

WallTime time_of(const json::object& object, std::string_view name) {
  return parse_time(text_of(object, name)).value_or(WallTime{});
}

}  // namespace

NodeMarks node_marks(const std::string& prefix) {
  return {.held = prefix + "/held",
          .probation = prefix + "/probation",
          .wants_test = prefix + "/wants-test",
          .may_test = prefix + "/may-test",
          .shall_test = prefix + "/shall-test",
          .hold = prefix + "/hold",
          .accused = prefix + "/job-accused"};
}

std::string held_label(std::string_view cause) {
  constexpr std::size_t kLongestLabel = 63;
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_allowed = [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; };
  const bool is_label = !cause.empty() && cause.size() <= kLongestLabel && is_plain(cause.front()) &&
                        is_plain(cause.back()) && std::ranges::all_of(cause, is_allowed);
  return is_label ? std::string(cause) : "true";
}

std::string format_hold(const Hold& hold) {
  return json::serialize(json::object{{"plan", hold.plan}, {"since", format_time(hold.since)}});
}

Hold parse_hold(std::string_view text) {
  const json::object object = object_of(text);
  return {.plan = text_of(object, "plan"), .since = time_of(object, "since")};
}

std::string format_probation(const Probation& probation) {
  return json::serialize(json::object{{"plan", probation.plan},
                                      {"until", format_time(probation.until)},
                                      {"next", format_time(probation.next)}});
}

Probation parse_probation(std::string_view text) {
  const json::object object = object_of(text);
  return {
      .plan = text_of(object, "plan"), .until = time_of(object, "until"), .next = time_of(object, "next")};
}

std::string format_accusation(const Accusation& accusation) {
  return json::serialize(json::object{{"finding", accusation.finding},
                                      {"job", accusation.job},
                                      {"effect", accusation.effect},
                                      {"blamed", accusation.blamed},
                                      {"since", format_time(accusation.since)},
                                      {"keepsPods", accusation.keeps_pods}});
}

std::optional<Accusation> parse_accusation(std::string_view text) {
  const json::object object = object_of(text);
  Accusation accusation{.finding = text_of(object, "finding"),
                        .job = text_of(object, "job"),
                        .effect = text_of(object, "effect"),
                        .blamed = text_of(object, "blamed"),
                        .since = time_of(object, "since")};
  const json::value* keeps = object.if_contains("keepsPods");
  accusation.keeps_pods = keeps != nullptr && keeps->is_bool() && keeps->get_bool();
  if (accusation.finding.empty() || accusation.since == WallTime{}) return std::nullopt;
  return accusation;
}

std::string format_test_order(const TestOrder& order) {
  return json::serialize(json::object{{"plan", order.plan}, {"since", format_time(order.since)}});
}

std::optional<std::string_view> annotation(const kube::Node& node, const std::string& name) {
  const auto found = node.meta.annotations.find(name);
  if (found == node.meta.annotations.end()) return std::nullopt;
  return found->second;
}

bool is_probation_taint(const kube::Taint& taint, const NodeMarks& marks) {
  return taint.key == marks.probation && taint.effect == kProbationEffect;
}

namespace json = boost::json;

namespace {

Write patch_of(const kube::Node& node, json::object annotations, json::object spec,
               json::object labels = {}) {
  json::object metadata{{"resourceVersion", node.meta.version}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  json::object patch{{"metadata", std::move(metadata)}};
  if (!spec.empty()) patch["spec"] = std::move(spec);
  return {Write::Method::merge_patch, "/api/v1/nodes/" + node.meta.name, json::serialize(patch)};
}

// A merge patch replaces the whole list.
json::array taints_of(const kube::Node& node, const NodeMarks& marks, bool has_ours) {
  json::array taints;
  for (const kube::Taint& taint : node.taints) {
    if (is_probation_taint(taint, marks)) continue;
    json::object object{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) object["value"] = taint.value;
    if (taint.added) object["timeAdded"] = kube::api_time(*taint.added);
    taints.push_back(std::move(object));
  }
  if (has_ours) taints.push_back(json::object{{"key", marks.probation}, {"effect", kProbationEffect}});
  return taints;
}

bool is_held_by(const kube::Node& node, const NodeMarks& marks, const std::string& plan) {
  const auto held = annotation(node, marks.held);
  return held && parse_hold(*held).plan == plan;
}

Result<std::optional<Write>> cordon(const PlannedAction& action, const kube::Node& node,
                                    const NodeMarks& marks, WallTime now) {
  if (is_held_by(node, marks, action.plan) && node.is_unschedulable) return std::nullopt;
  if (node.is_unschedulable || annotation(node, marks.held))
    return fail(Errc::conflict, "node " + node.meta.name + " has a cordon that is not Autopilot's");
  const Hold hold{.plan = action.plan, .since = now};
  return patch_of(node, json::object{{marks.held, format_hold(hold)}}, json::object{{"unschedulable", true}},
                  json::object{{marks.held, held_label(action.cause)}});
}

// stays_cordoned: the cordon belongs to another program or person now.
Result<std::optional<Write>> give_back(const PlannedAction& action, const kube::Node& node,
                                       const NodeMarks& marks, bool stays_cordoned) {
  const bool has_label = node.meta.labels.contains(marks.held);
  json::object labels;
  if (has_label) labels[marks.held] = nullptr;
  if (!annotation(node, marks.held))
    return has_label ? std::optional(patch_of(node, {}, {}, std::move(labels))) : std::nullopt;
  if (!is_held_by(node, marks, action.plan))
    return fail(Errc::conflict, "node " + node.meta.name + " is not held by plan " + action.plan);
  json::object spec;
  if (!stays_cordoned) spec["unschedulable"] = nullptr;
  return patch_of(node, json::object{{marks.held, nullptr}}, std::move(spec), std::move(labels));
}

Result<std::optional<Write>> taint(const PlannedAction& action, const kube::Node& node,
                                   const NodeMarks& marks) {
  if (!action.probation) return fail(Errc::internal, "a taint without a probation");
  return patch_of(node, json::object{{marks.probation, format_probation(*action.probation)}},
                  json::object{{"taints", taints_of(node, marks, true)}});
}

}  // namespace

Result<std::optional<Write>> node_step(const PlannedAction& action, const kube::Node& node,
                                       const NodeMarks& marks, WallTime now) {
  switch (action.kind) {
    case ActionKind::cordon:
      return cordon(action, node, marks, now);
    case ActionKind::uncordon:
      return give_back(action, node, marks, false);
    case ActionKind::release:
      return give_back(action, node, marks, true);
    case ActionKind::taint:
      return taint(action, node, marks);
    case ActionKind::remove_taint:
      return patch_of(node, json::object{{marks.probation, nullptr}},
                      json::object{{"taints", taints_of(node, marks, false)}});
    case ActionKind::deep_test:
      return patch_of(
          node, json::object{{marks.shall_test, format_test_order({.plan = action.plan, .since = now})}}, {});
    default:
      return fail(Errc::internal, "no action on a node: " + std::string(to_string(action.kind)));
  }
}

std::optional<Write> grant_test(const kube::Node& node, const NodeMarks& marks, WallTime now) {
  if (annotation(node, marks.may_test)) return std::nullopt;
  return patch_of(node, json::object{{marks.may_test, format_time(now)}}, {});
}

namespace json = boost::json;

namespace {

json::object precondition(const PlannedAction& action) {
  return {{"preconditions", json::object{{"uid", action.target.uid}}}};
}

std::string pod_path(const Target& target) {
  return "/api/v1/namespaces/" + target.name_space + "/pods/" + target.name;
}

// Action names contain underscores, which object names do not allow.
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
