// SPDX-License-Identifier: Apache-2.0

#include "kube/health_reports.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"
#include "core/text.hpp"
#include "core/word_table.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

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

template <class T>
std::vector<T> all_in(const json::object& object, Names names, T (*read)(const json::object&)) {
  std::vector<T> all;
  for (const json::object* member : objects_at(object, names))
    all.push_back(read(*member));
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
  details.missing_rights = texts_at(*status, {"coverage", "missingRights"});
  details.incidents = all_in(*status, {"incidents"}, incident_of);
  details.incidents_left_out = number_at(*status, {"incidentsLeftOut"}).value_or(0);
  details.checks = all_in(*status, {"checks"}, check_of);
  details.why_evicted = text_at(*status, {"written", "why"});
  details.evicting = all_in(*status, {"written", "evicting"}, eviction_of);
  for (const json::object* gpu : objects_at(*status, {"gpus"}))
    details.gpus.emplace_back(text_at(*gpu, {"uuid"}));
  details.passes = all_in(*status, {"passRecords"}, pass_of);
  return details;
}

namespace {

using Report = HealthCheckReport;

constexpr std::string_view kApiVersion = "autopilot.ibm.com/v1alpha1";
constexpr std::string_view kReportKind = "HealthCheckReport";
constexpr std::size_t kDigits = 10;

constexpr WordTable<ReportedOutcome, 3> kOutcomes{{{ReportedOutcome::started, "started"},
                                                   {ReportedOutcome::failed, "failed"},
                                                   {ReportedOutcome::could_not_look, "could_not_look"}}};
constexpr WordTable<ReportPhase, 5> kPhases{{{ReportPhase::pending, "Pending"},
                                             {ReportPhase::planned, "Planned"},
                                             {ReportPhase::acted, "Acted"},
                                             {ReportPhase::undone, "Undone"},
                                             {ReportPhase::expired, "Expired"}}};

std::string report_text(std::string_view text, std::size_t bytes) {
  return std::string(cut_utf8(to_utf8(text.substr(0, bytes)), bytes));
}

ReportedFinding finding_of(const json::object& object) {
  ReportedFinding finding;
  finding.subject = text_at(object, {"subject"});
  finding.check = text_at(object, {"check"});
  finding.health = health_at(object);
  finding.reason = text_at(object, {"reason"});
  finding.message = text_at(object, {"message"});
  if (const json::object* evidence = object_at(object, {"evidence"}))
    for (const auto& member : *evidence)
      if (const json::string* text = member.value().if_string())
        finding.evidence.emplace(std::string(member.key()), std::string(text->data(), text->size()));
  return finding;
}

void read_spec(const json::object& spec, Report& report) {
  report.node = text_at(spec, {"node"});
  report.pod = {std::string(text_at(spec, {"pod", "namespace"})), std::string(text_at(spec, {"pod", "name"})),
                std::string(text_at(spec, {"pod", "uid"}))};
  if (object_at(spec, {"job"}) != nullptr)
    report.job = {std::string(text_at(spec, {"job", "apiVersion"})),
                  std::string(text_at(spec, {"job", "kind"})), std::string(text_at(spec, {"job", "name"})),
                  std::string(text_at(spec, {"job", "uid"}))};
  report.tests = texts_at(spec, {"tests"});
  report.gpus = texts_at(spec, {"gpus"});
  report.outcome = parse_reported_outcome(text_at(spec, {"outcome"}));
  report.is_let_in = flag_at(spec, {"letIn"});
  report.message = text_at(spec, {"message"});
  report.findings = all_in(spec, {"findings"}, finding_of);
  report.issuer = text_at(spec, {"issuer"});
  report.time = parse_time(text_at(spec, {"time"}));
  report.is_simulated = flag_at(spec, {"simulated"});
}

void read_report_status(const json::object& status, Report& report) {
  report.phase = parse_report_phase(text_at(status, {"phase"})).value_or(ReportPhase::pending);
  report.plan = text_at(status, {"plan"});
  report.said = text_at(status, {"message"});
  report.acted = parse_time(text_at(status, {"acted"}));
  report.undone = parse_time(text_at(status, {"undone"}));
}

json::array words_json(const std::vector<std::string>& words, std::size_t most) {
  json::array list;
  for (const std::string& word : words) {
    if (list.size() == most) break;
    list.emplace_back(report_text(word, Report::kLongestWord));
  }
  return list;
}

json::object finding_json(const ReportedFinding& finding) {
  json::object object{{"subject", report_text(finding.subject, Report::kLongestWord)},
                      {"check", report_text(finding.check, Report::kLongestWord)},
                      {"health", to_string(finding.health)},
                      {"reason", report_text(finding.reason, Report::kLongestWord)},
                      {"message", report_text(finding.message, Report::kLongestText)}};
  json::object evidence;
  for (const auto& [name, text] : finding.evidence) {
    if (evidence.size() == Report::kMostEvidence) break;
    evidence[report_text(name, Report::kLongestWord)] = report_text(text, Report::kLongestEvidence);
  }
  if (!evidence.empty()) object["evidence"] = std::move(evidence);
  return object;
}

json::object report_spec_json(const Report& report) {
  json::object spec{{"node", report.node},
                    {"pod", json::object{{"namespace", report.pod.name_space},
                                         {"name", report.pod.name},
                                         {"uid", report.pod.uid}}},
                    {"tests", words_json(report.tests, Report::kMostTests)},
                    {"outcome", to_string(report.outcome.value_or(ReportedOutcome::could_not_look))},
                    {"message", report_text(report.message, Report::kLongestText)},
                    {"issuer", report_text(report.issuer, Report::kLongestWord)},
                    {"time", format_time(report.time.value_or(WallTime{}))}};
  if (report.job)
    spec["job"] = json::object{{"apiVersion", report.job->api_version},
                               {"kind", report.job->kind},
                               {"name", report.job->name},
                               {"uid", report.job->uid}};
  if (!report.gpus.empty()) spec["gpus"] = words_json(report.gpus, Report::kMostGpus);
  json::array findings;
  for (const ReportedFinding& finding : report.findings)
    if (findings.size() < Report::kMostFindings) findings.push_back(finding_json(finding));
  if (!findings.empty()) spec["findings"] = std::move(findings);
  if (report.is_let_in) spec["letIn"] = true;
  if (report.is_simulated) spec["simulated"] = true;
  return spec;
}

json::value report_text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(report_text(text, Report::kLongestText));
}

}  // namespace

std::string_view to_string(ReportedOutcome outcome) {
  return word_of(kOutcomes, outcome);
}

std::optional<ReportedOutcome> parse_reported_outcome(std::string_view word) {
  return value_of(kOutcomes, word);
}

std::string_view to_string(ReportPhase phase) {
  return word_of(kPhases, phase);
}

std::optional<ReportPhase> parse_report_phase(std::string_view word) {
  return value_of(kPhases, word);
}

std::string health_check_reports_path(std::string_view name_space) {
  return "/apis/autopilot.ibm.com/v1alpha1/namespaces/" + std::string(name_space) + "/healthcheckreports";
}

std::string health_check_report_name(std::string_view node, std::string_view pod_uid,
                                     std::vector<std::string> tests) {
  constexpr std::size_t kLongestName = 253;
  std::ranges::sort(tests);
  std::string all(pod_uid);
  for (const std::string& test : tests)
    all.append(1, '\n').append(test);
  std::string name(node.substr(0, kLongestName - kDigits - 1));
  return name.append(1, '-').append(stable_hash(all).hex(), 0, kDigits);
}

HealthCheckReport parse_health_check_report(const JsonObject& object) {
  Report report;
  report.meta = parse_meta(object);
  report.created = parse_time(text_at(object.value, {"metadata", "creationTimestamp"}));
  if (const json::object* spec = object_at(object.value, {"spec"})) read_spec(*spec, report);
  if (const json::object* status = object_at(object.value, {"status"})) read_report_status(*status, report);
  return report;
}

Result<HealthCheckReport> parse_health_check_report(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return fail(Errc::malformed, "not a JSON object");
  return parse_health_check_report(JsonObject{*object});
}

std::string health_check_report_json(const HealthCheckReport& report) {
  json::object metadata{{"name", report.meta.name}, {"namespace", report.meta.name_space}};
  if (!report.meta.version.empty()) metadata["resourceVersion"] = report.meta.version;
  return json::serialize(json::object{{"apiVersion", kApiVersion},
                                      {"kind", kReportKind},
                                      {"metadata", std::move(metadata)},
                                      {"spec", report_spec_json(report)}});
}

std::string health_check_status_patch(const HealthCheckReport& report) {
  json::object patch{{"status", json::object{{"phase", to_string(report.phase)},
                                             {"plan", report_text_or_null(report.plan)},
                                             {"message", report_text_or_null(report.said)},
                                             {"acted", time_or_null(report.acted)},
                                             {"undone", time_or_null(report.undone)}}}};
  if (!report.meta.version.empty())
    patch["metadata"] = json::object{{"resourceVersion", report.meta.version}};
  return json::serialize(patch);
}

}  // namespace autopilot::kube
