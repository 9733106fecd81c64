// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/check_report.hpp"

#include <boost/json.hpp>

#include "kube/json_object.hpp"
#include "kube/object_text.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

std::string text_of(const json::object& object, kube::Names names) {
  return std::string(kube::text_at(object, names));
}

std::optional<Owner> owner_of(const json::object& spec) {
  const json::object* job = kube::object_at(spec, {"job"});
  if (job == nullptr) return std::nullopt;
  return Owner{.api_version = text_of(*job, {"apiVersion"}),
               .kind = text_of(*job, {"kind"}),
               .name = text_of(*job, {"name"}),
               .uid = text_of(*job, {"uid"})};
}

std::vector<FailedTest> failed_in(const json::object& spec) {
  std::vector<FailedTest> failed;
  const json::array* findings = kube::array_at(spec, {"findings"});
  if (findings == nullptr) return failed;
  for (const json::value& item : *findings)
    if (const json::object* finding = item.if_object())
      failed.push_back({.test = text_of(*finding, {"check"}),
                        .reason = text_of(*finding, {"reason"}),
                        .message = text_of(*finding, {"message"})});
  return failed;
}

}  // namespace

std::string check_reports_path(std::string_view name_space) {
  return "/apis/autopilot.ibm.com/v1alpha1/namespaces/" + std::string(name_space) + "/healthcheckreports";
}

CheckReport parse_check_report(const kube::JsonObject& object) {
  CheckReport report{.meta = kube::parse_meta(object), .fact = {}};
  Report& fact = report.fact;
  fact.name = report.meta.name;
  const std::string_view phase = kube::text_at(object.value, {"status", "phase"});
  fact.phase = parse_report_phase(phase).value_or(ReportPhase::pending);
  // Of an outcome that nobody knows no test was failed.
  fact.outcome = Outcome::could_not_look;
  const json::object* spec = kube::object_at(object.value, {"spec"});
  if (spec == nullptr) return report;
  fact.node = text_of(*spec, {"node"});
  fact.pod_namespace = text_of(*spec, {"pod", "namespace"});
  fact.pod = text_of(*spec, {"pod", "name"});
  fact.pod_uid = text_of(*spec, {"pod", "uid"});
  fact.owner = owner_of(*spec);
  fact.outcome = parse_outcome(kube::text_at(*spec, {"outcome"})).value_or(Outcome::could_not_look);
  fact.failed = failed_in(*spec);
  if (!fact.failed.empty()) fact.message = fact.failed.front().message;
  fact.time = parse_time(kube::text_at(*spec, {"time"})).value_or(WallTime{});
  return report;
}

}  // namespace autopilot::controller
