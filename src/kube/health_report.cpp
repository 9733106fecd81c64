// SPDX-License-Identifier: Apache-2.0
#include "kube/health_report.hpp"

#include <boost/json.hpp>

#include "kube/json_object.hpp"
#include "kube/object_text.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

Health health_at(const json::object& object) {
  return parse_health(text_at(object, {"health"})).value_or(Health::unknown);
}

// Without an accelerator there is no verdict.
std::optional<Verdict> written_in(const json::object& status) {
  const std::string_view word = text_at(status, {"written", "verdict"});
  return word.empty() ? std::optional(Verdict::none) : parse_verdict(word);
}

std::string subject_at(const json::object& object, std::string_view name) {
  std::string text(text_at(object, {name, "kind"}));
  const std::string_view key = text_at(object, {name, "key"});
  if (!key.empty()) text.append(1, '/').append(key);
  return text;
}

ReportedIncident incident_of(const json::object& object) {
  ReportedIncident incident;
  incident.id = text_at(object, {"id"});
  incident.state = text_at(object, {"state"});
  incident.check = text_at(object, {"check"});
  incident.reason = text_at(object, {"reason"});
  incident.cause = text_at(object, {"cause"});
  incident.blamed = subject_at(object, "blamed");
  incident.health = health_at(object);
  incident.action = text_at(object, {"action"});
  incident.summary = text_at(object, {"summary"});
  incident.opened = parse_time(text_at(object, {"opened"}));
  incident.is_acknowledged = flag_at(object, {"acknowledged"});
  incident.is_injected = flag_at(object, {"injected"});
  return incident;
}

ReportedCheck check_of(const json::object& object) {
  return {.id = std::string(text_at(object, {"check"})),
          .health = health_at(object),
          .is_required = flag_at(object, {"required"}),
          .message = std::string(text_at(object, {"message"}))};
}

ReportedEviction eviction_of(const json::object& object) {
  return {.incident = std::string(text_at(object, {"incident"})),
          .closed = parse_time(text_at(object, {"closed"})),
          .is_acknowledged = flag_at(object, {"acknowledged"})};
}

ReportedPass pass_of(const json::object& object) {
  return {.gpu_uuid = std::string(text_at(object, {"gpuUuid"})),
          .test = std::string(text_at(object, {"test"})),
          .time = parse_time(text_at(object, {"time"}))};
}

template <class Take>
void each_in(const json::object& object, Names names, const Take& take) {
  if (const json::array* list = array_at(object, names))
    for (const json::value& item : *list)
      take(item);
}

template <class T>
std::vector<T> all_in(const json::object& object, Names names, T (*read)(const json::object&)) {
  std::vector<T> all;
  each_in(object, names, [&](const json::value& item) {
    if (const json::object* member = item.if_object()) all.push_back(read(*member));
  });
  return all;
}

}  // namespace

std::string health_reports_path(std::string_view name_space) {
  return "/apis/autopilot.ibm.com/v1alpha1/namespaces/" + std::string(name_space) + "/nodehealthreports";
}

HealthReport parse_health_report(const JsonObject& object) {
  HealthReport report;
  report.node = text_at(object.value, {"metadata", "name"});
  const json::object* status = object_at(object.value, {"status"});
  if (status == nullptr) return report;
  report.observed = parse_time(text_at(*status, {"observedAt"}));
  report.health = health_at(*status);
  report.written = written_in(*status);
  report.looked = text_at(*status, {"coverage", "summary"});
  report.worst_incident = text_at(*status, {"worstIncident"});
  report.is_simulated = flag_at(*status, {"simulated"});
  return report;
}

ReportDetails parse_report_details(const JsonObject& object) {
  ReportDetails details;
  const json::object* status = object_at(object.value, {"status"});
  if (status == nullptr) return details;
  each_in(*status, {"coverage", "missingRights"}, [&details](const json::value& item) {
    if (const json::string* right = item.if_string())
      details.missing_rights.emplace_back(right->data(), right->size());
  });
  details.incidents = all_in(*status, {"incidents"}, incident_of);
  details.incidents_left_out = number_at(*status, {"incidentsLeftOut"}).value_or(0);
  details.checks = all_in(*status, {"checks"}, check_of);
  details.why_evicted = text_at(*status, {"written", "why"});
  details.evicting = all_in(*status, {"written", "evicting"}, eviction_of);
  each_in(*status, {"gpus"}, [&details](const json::value& item) {
    const json::object* gpu = item.if_object();
    if (gpu != nullptr) details.gpus.emplace_back(text_at(*gpu, {"uuid"}));
  });
  details.passes = all_in(*status, {"passRecords"}, pass_of);
  return details;
}

}  // namespace autopilot::kube
