// SPDX-License-Identifier: Apache-2.0

#include "kube/remediation.hpp"

#include <boost/json.hpp>
#include <cstddef>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

constexpr const char* kVersion = "autopilot.ibm.com/v1alpha1";
// Limits of the schemas.
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestCause = 256;
constexpr std::size_t kLongestSubject = 256;
constexpr std::size_t kLongestStep = 512;
constexpr std::size_t kLongestMessage = 1024;
constexpr std::size_t kMostNames = 64;
constexpr std::size_t kMostJobs = 256;
constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kMostDone = 128;

std::string cut_text(std::string_view text, std::size_t longest) {
  const std::string clean = to_utf8(text);
  return std::string(cut_utf8(clean, longest));
}

// An empty text is null, which removes the value in a patch.
json::value text_or_null(std::string_view text, std::size_t longest) {
  if (text.empty()) return nullptr;
  return json::value(cut_text(text, longest));
}

// Leaves out an empty text.
void put(json::object& object, std::string_view name, std::string_view text, std::size_t longest) {
  if (text.empty()) return;
  object[name] = cut_text(text, longest);
}

// Keeps the first and the newest.
json::array list_of(const std::vector<std::string>& texts, std::size_t most, std::size_t longest) {
  json::array list;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool is_kept = i == 0 || texts.size() - i < most;
    if (is_kept) list.emplace_back(cut_text(texts[i], longest));
  }
  return list;
}

json::array list_of(const std::vector<PlanStep>& steps) {
  json::array list;
  for (std::size_t i = steps.size() > kMostDone ? steps.size() - kMostDone : 0; i < steps.size(); ++i)
    list.push_back(json::object{{"action", steps[i].action},
                                {"target", cut_text(steps[i].target, kLongestStep)},
                                {"at", format_time(steps[i].at)},
                                {"counted", steps[i].is_counted}});
  return list;
}

std::optional<WallTime> plan_time_at(const json::object& object, std::string_view name) {
  return parse_time(text_at(object, {name}));
}

PlanSpec plan_spec_of(const json::object& object) {
  PlanSpec spec;
  spec.node = text_at(object, {"node"});
  spec.node_uid = text_at(object, {"nodeUid"});
  spec.pool = text_at(object, {"pool"});
  spec.domain = text_at(object, {"domain"});
  spec.cause = text_at(object, {"cause"});
  spec.created = plan_time_at(object, "created").value_or(WallTime{});
  spec.evidence = texts_at(object, {"evidence"});
  spec.tests = texts_at(object, {"tests"});
  spec.jobs = texts_at(object, {"jobs"});
  spec.steps = texts_at(object, {"steps"});
  spec.budget = text_at(object, {"budget"});
  return spec;
}

std::vector<PlanStep> steps_of(const json::object& object) {
  std::vector<PlanStep> steps;
  for (const json::object* step : objects_at(object, {"done"}))
    steps.push_back({std::string(text_at(*step, {"action"})), std::string(text_at(*step, {"target"})),
                     plan_time_at(*step, "at").value_or(WallTime{}), flag_at(*step, {"counted"})});
  return steps;
}

PlanStatus plan_status_of(const json::object& object) {
  PlanStatus status;
  status.phase = text_at(object, {"phase"});
  status.brake = text_at(object, {"brake"});
  status.message = text_at(object, {"message"});
  status.problem = text_at(object, {"problem"});
  status.holds = flag_at(object, {"holds"});
  status.is_released = flag_at(object, {"released"});
  status.updated = plan_time_at(object, "updated");
  status.begun = plan_time_at(object, "begun");
  status.would_hold = plan_time_at(object, "wouldHold");
  status.returned = plan_time_at(object, "returned");
  status.latest_evidence = plan_time_at(object, "latestEvidence");
  status.evidence = texts_at(object, {"evidence"});
  status.tests = texts_at(object, {"tests"});
  status.jobs = texts_at(object, {"jobs"});
  status.steps = texts_at(object, {"steps"});
  status.budget = text_at(object, {"budget"});
  status.spare = text_at(object, {"spare"});
  status.done = steps_of(object);
  return status;
}

json::object plan_spec_json(const PlanSpec& spec) {
  json::object body{{"node", cut_text(spec.node, kLongestName)},
                    {"cause", cut_text(spec.cause, kLongestCause)},
                    {"created", format_time(spec.created)},
                    {"evidence", list_of(spec.evidence, kMostNames, kLongestName)},
                    {"tests", list_of(spec.tests, kMostNames, kLongestName)},
                    {"jobs", list_of(spec.jobs, kMostJobs, kLongestName)},
                    {"steps", list_of(spec.steps, kMostSteps, kLongestStep)}};
  if (!spec.node_uid.empty()) body["nodeUid"] = spec.node_uid;
  if (!spec.pool.empty()) body["pool"] = spec.pool;
  if (!spec.domain.empty()) body["domain"] = spec.domain;
  if (!spec.budget.empty()) body["budget"] = cut_text(spec.budget, kLongestStep);
  return body;
}

json::object status_json(const PlanStatus& status) {
  return json::object{{"phase", status.phase},
                      {"brake", text_or_null(status.brake, kLongestName)},
                      {"message", text_or_null(status.message, kLongestMessage)},
                      {"problem", text_or_null(status.problem, kLongestMessage)},
                      {"holds", status.holds},
                      {"released", status.is_released},
                      {"updated", time_or_null(status.updated)},
                      {"begun", time_or_null(status.begun)},
                      {"wouldHold", time_or_null(status.would_hold)},
                      {"returned", time_or_null(status.returned)},
                      {"latestEvidence", time_or_null(status.latest_evidence)},
                      {"evidence", list_of(status.evidence, kMostNames, kLongestName)},
                      {"tests", list_of(status.tests, kMostNames, kLongestName)},
                      {"jobs", list_of(status.jobs, kMostJobs, kLongestName)},
                      {"steps", list_of(status.steps, kMostSteps, kLongestStep)},
                      {"budget", text_or_null(status.budget, kLongestStep)},
                      {"spare", text_or_null(status.spare, kLongestName)},
                      {"done", list_of(status.done)}};
}

}  // namespace

std::string remediation_plans_path(std::string_view name_space) {
  return "/apis/autopilot.ibm.com/v1alpha1/namespaces/" + std::string(name_space) + "/remediationplans";
}

RemediationPlan parse_remediation_plan(const JsonObject& object) {
  RemediationPlan plan;
  plan.meta = parse_meta(object);
  if (const json::object* spec = object_at(object.value, {"spec"})) plan.spec = plan_spec_of(*spec);
  if (const json::object* status = object_at(object.value, {"status"})) plan.status = plan_status_of(*status);
  return plan;
}

Result<RemediationPlan> parse_remediation_plan(std::string_view text) {
  RemediationPlan plan;
  TRY_STATUS(read_object(text, [&plan](const JsonObject& object) { plan = parse_remediation_plan(object); }));
  return plan;
}

std::string remediation_plan_json(std::string_view name, const PlanSpec& spec) {
  return json::serialize(json::object{{"apiVersion", kVersion},
                                      {"kind", "RemediationPlan"},
                                      {"metadata", json::object{{"name", name}}},
                                      {"spec", plan_spec_json(spec)}});
}

std::string plan_status_patch(const PlanStatus& status, std::string_view version) {
  return json::serialize(json::object{{"metadata", json::object{{"resourceVersion", version}}},
                                      {"status", status_json(status)}});
}

std::string plans_json(std::span<const RemediationPlan> plans) {
  json::array items;
  for (const RemediationPlan& plan : plans) {
    json::object item{{"name", plan.meta.name}};
    for (const auto& member : plan_spec_json(plan.spec))
      item[member.key()] = member.value();
    // The current status comes before the original decision.
    const json::object status = plan.status ? status_json(*plan.status) : json::object();
    for (const auto& member : status)
      if (!member.value().is_null()) item[member.key()] = member.value();
    items.push_back(std::move(item));
  }
  return json::serialize(json::object{{"items", std::move(items)}});
}

std::string remediation_requests_path(std::string_view name_space) {
  return "/apis/autopilot.ibm.com/v1alpha1/namespaces/" + std::string(name_space) + "/remediationrequests";
}

RemediationRequest parse_remediation_request(const JsonObject& object) {
  const json::object& members = object.value;
  RemediationRequest request;
  request.meta = parse_meta(object);
  request.spec.node = text_at(members, {"spec", "node"});
  request.spec.node_uid = text_at(members, {"spec", "nodeUid"});
  request.spec.action = text_at(members, {"spec", "action"});
  request.spec.subject = text_at(members, {"spec", "subject"});
  request.spec.plan = text_at(members, {"spec", "plan"});
  request.spec.incident = text_at(members, {"spec", "incident"});
  request.spec.message = text_at(members, {"spec", "message"});
  request.spec.created = parse_time(text_at(members, {"spec", "created"})).value_or(WallTime{});
  request.phase = text_at(members, {"status", "phase"});
  request.by = text_at(members, {"status", "by"});
  request.message = text_at(members, {"status", "message"});
  request.finished = parse_time(text_at(members, {"status", "finished"}));
  return request;
}

Result<RemediationRequest> parse_remediation_request(std::string_view text) {
  RemediationRequest request;
  TRY_STATUS(read_object(
      text, [&request](const JsonObject& object) { request = parse_remediation_request(object); }));
  return request;
}

std::string remediation_request_json(std::string_view name, const RequestSpec& spec, const Meta& plan) {
  const json::object owner{
      {"apiVersion", kVersion}, {"kind", "RemediationPlan"}, {"name", plan.name}, {"uid", plan.uid}};
  json::object body{{"action", spec.action}, {"created", format_time(spec.created)}};
  put(body, "node", spec.node, kLongestName);
  put(body, "nodeUid", spec.node_uid, kLongestName);
  put(body, "subject", spec.subject, kLongestSubject);
  put(body, "plan", spec.plan, kLongestName);
  put(body, "incident", spec.incident, kLongestName);
  put(body, "message", spec.message, kLongestMessage);
  return json::serialize(
      json::object{{"apiVersion", kVersion},
                   {"kind", "RemediationRequest"},
                   {"metadata", json::object{{"name", name}, {"ownerReferences", json::array{owner}}}},
                   {"spec", std::move(body)}});
}

}  // namespace autopilot::kube
