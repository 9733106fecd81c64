// SPDX-License-Identifier: Apache-2.0
#include "kube/remediation_request.hpp"

#include <boost/json.hpp>
#include <cstddef>

#include "core/cut_utf8.hpp"
#include "core/parse.hpp"
#include "kube/json_object.hpp"
#include "kube/list_page.hpp"
#include "kube/object_text.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

constexpr const char* kVersion = "autopilot.ibm.com/v1alpha1";
// Limits of the schema.
constexpr std::size_t kLongestRequestName = 253;
constexpr std::size_t kLongestSubject = 256;
constexpr std::size_t kLongestRequestMessage = 1024;

void put(json::object& object, std::string_view name, std::string_view text, std::size_t longest) {
  if (text.empty()) return;
  const std::string clean = to_utf8(text);
  object[name] = cut_utf8(clean, longest);
}

}  // namespace

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
  put(body, "node", spec.node, kLongestRequestName);
  put(body, "nodeUid", spec.node_uid, kLongestRequestName);
  put(body, "subject", spec.subject, kLongestSubject);
  put(body, "plan", spec.plan, kLongestRequestName);
  put(body, "incident", spec.incident, kLongestRequestName);
  put(body, "message", spec.message, kLongestRequestMessage);
  return json::serialize(
      json::object{{"apiVersion", kVersion},
                   {"kind", "RemediationRequest"},
                   {"metadata", json::object{{"name", name}, {"ownerReferences", json::array{owner}}}},
                   {"spec", std::move(body)}});
}

}  // namespace autopilot::kube
