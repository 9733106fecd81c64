// SPDX-License-Identifier: Apache-2.0
#include "kube/job_health_reports.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cctype>
#include <cstdio>
#include <initializer_list>
#include <span>
#include <utility>

#include "core/parse.hpp"
#include "core/stable_hash.hpp"
#include "core/text.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

constexpr std::string_view kJobReportVersion = "autopilot.ibm.com/v1alpha1";
constexpr std::size_t kLongestJobName = 200;  // of the job's part of a name
constexpr std::size_t kJobDigits = 10;

std::string bounded(std::string_view text, std::size_t bytes) {
  return std::string(cut_utf8(to_utf8(text.substr(0, bytes)), bytes));
}

void put_text(json::object& object, std::string_view name, std::string_view text,
              std::size_t bytes = JobHealthReport::kLongestWord) {
  if (!text.empty()) object[name] = bounded(text, bytes);
}

void put_time(json::object& object, std::string_view name, const std::optional<WallTime>& time) {
  if (time) object[name] = format_time(*time);
}

void put_texts(json::object& object, std::string_view name, std::span<const std::string> texts,
               std::size_t most, std::size_t bytes = JobHealthReport::kLongestText) {
  json::array list;
  for (const std::string& text : texts.first(std::min(most, texts.size())))
    list.emplace_back(bounded(text, bytes));
  if (!list.empty()) object[name] = std::move(list);
}

json::object to_json(const ReportedJobFinding& finding) {
  json::object object;
  put_text(object, "id", finding.id);
  put_text(object, "effect", finding.effect);
  put_text(object, "severity", finding.severity);
  put_text(object, "culprit", finding.culprit);
  put_text(object, "cause", finding.cause);
  put_text(object, "summary", finding.summary, JobHealthReport::kLongestText);
  put_text(object, "choice", finding.choice);
  put_time(object, "since", finding.since);
  put_time(object, "resolved", finding.resolved);
  put_texts(object, "evidence", finding.evidence, JobHealthReport::kMostEvidence);
  return object;
}

json::object to_json(const ReportedJobFailure& failure) {
  json::object object;
  put_text(object, "kind", failure.kind);
  put_text(object, "cause", failure.cause);
  put_text(object, "culprit", failure.culprit);
  put_text(object, "sentence", failure.sentence, JobHealthReport::kLongestText);
  put_time(object, "time", failure.time);
  put_texts(object, "evidence", failure.evidence, JobHealthReport::kMostEvidence);
  put_texts(object, "notAvailable", failure.not_available, JobHealthReport::kMostTexts);
  return object;
}

json::object to_json(const ReportedAfterwards& afterwards) {
  json::object object{
      {"passed", afterwards.passed}, {"failed", afterwards.failed}, {"unknown", afterwards.unknown}};
  put_text(object, "text", afterwards.text, JobHealthReport::kLongestSentence);
  json::array nodes;
  for (const ReportedNodeValidation& one : afterwards.nodes) {
    if (nodes.size() == JobHealthReport::kMostValidated) break;
    json::object node;
    put_text(node, "node", one.node);
    put_text(node, "verdict", one.verdict);
    put_text(node, "text", one.text, JobHealthReport::kLongestText);
    put_time(node, "time", one.time);
    nodes.emplace_back(std::move(node));
  }
  object["nodes"] = std::move(nodes);
  return object;
}

json::object to_json(const ReportedJobAction& action) {
  json::object object;
  put_text(object, "choice", action.choice);
  put_text(object, "state", action.state);
  put_text(object, "message", action.message, JobHealthReport::kLongestText);
  put_texts(object, "steps", action.steps, JobHealthReport::kMostTexts);
  put_time(object, "time", action.time);
  return object;
}

json::array findings_json(const JobHealthReport& report) {
  json::array findings;
  const std::size_t most = std::min(JobHealthReport::kMostFindings, report.findings.size());
  for (std::size_t at = 0; at < most; ++at)
    findings.emplace_back(to_json(report.findings[at]));
  return findings;
}

json::object spec_of(const JobHealthReport& report) {
  json::object spec{{"nodeCount", report.node_count}, {"attempt", report.attempt}};
  put_text(spec, "job", report.job);
  put_text(spec, "name", report.name);
  put_text(spec, "owner", report.owner, JobHealthReport::kLongestText);
  put_text(spec, "health", report.health);
  put_text(spec, "culprit", report.culprit);
  put_time(spec, "since", report.since);
  put_texts(spec, "nodes", report.nodes, JobHealthReport::kMostNodes, JobHealthReport::kLongestWord);
  if (report.step) spec["step"] = *report.step;
  if (report.step_s) spec["stepSeconds"] = *report.step_s;
  put_text(spec, "progressSource", report.progress_source);
  put_time(spec, "started", report.started);
  put_time(spec, "ended", report.ended);
  put_text(spec, "outcome", report.outcome);
  if (report.failure) spec["failure"] = to_json(*report.failure);
  if (report.afterwards) spec["afterwards"] = to_json(*report.afterwards);
  put_texts(spec, "notSeen", report.not_seen, JobHealthReport::kMostTexts);
  put_time(spec, "updated", report.updated);
  spec["findings"] = findings_json(report);
  return spec;
}

// Leaves out evidence from the last finding on, then findings.
void shorten(json::array& findings) {
  for (auto at = findings.rbegin(); at != findings.rend(); ++at)
    if (at->get_object().erase("evidence") > 0) return;
  findings.pop_back();
}

json::object bounded_spec(const JobHealthReport& report) {
  constexpr std::size_t kFrame = 1024;  // for the metadata
  json::object spec = spec_of(report);
  json::array& findings = spec.at("findings").get_array();
  while (!findings.empty() && json::serialize(spec).size() + kFrame > JobHealthReport::kMaxBytes)
    shorten(findings);
  if (!report.afterwards) return spec;
  json::array& nodes = spec.at("afterwards").at("nodes").get_array();
  while (!nodes.empty() && json::serialize(spec).size() + kFrame > JobHealthReport::kMaxBytes)
    nodes.pop_back();
  return spec;
}

json::object status_of(const JobHealthReport& report) {
  json::object status;
  if (!report.memory.empty() && report.memory.size() <= JobHealthReport::kMaxMemoryBytes)
    status["memory"] = report.memory;
  return status;
}

void add_nulls(json::object& object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (!object.contains(name)) object[name] = nullptr;
}

std::optional<WallTime> time_at(const json::object& object, std::string_view name) {
  return parse_time(text_at(object, {name}));
}

ReportedJobFinding parse_finding(const json::object& object) {
  return {.id = std::string(text_at(object, {"id"})),
          .effect = std::string(text_at(object, {"effect"})),
          .severity = std::string(text_at(object, {"severity"})),
          .culprit = std::string(text_at(object, {"culprit"})),
          .cause = std::string(text_at(object, {"cause"})),
          .summary = std::string(text_at(object, {"summary"})),
          .choice = std::string(text_at(object, {"choice"})),
          .since = time_at(object, "since"),
          .resolved = time_at(object, "resolved"),
          .evidence = texts_at(object, {"evidence"})};
}

ReportedJobFailure parse_failure(const json::object& object) {
  return {.kind = std::string(text_at(object, {"kind"})),
          .cause = std::string(text_at(object, {"cause"})),
          .culprit = std::string(text_at(object, {"culprit"})),
          .sentence = std::string(text_at(object, {"sentence"})),
          .time = time_at(object, "time"),
          .evidence = texts_at(object, {"evidence"}),
          .not_available = texts_at(object, {"notAvailable"})};
}

ReportedNodeValidation parse_node_validation(const json::object& object) {
  return {.node = std::string(text_at(object, {"node"})),
          .verdict = std::string(text_at(object, {"verdict"})),
          .text = std::string(text_at(object, {"text"})),
          .time = time_at(object, "time")};
}

ReportedAfterwards parse_afterwards(const json::object& object) {
  ReportedAfterwards afterwards{.text = std::string(text_at(object, {"text"})),
                                .passed = number_at(object, {"passed"}).value_or(0),
                                .failed = number_at(object, {"failed"}).value_or(0),
                                .unknown = number_at(object, {"unknown"}).value_or(0),
                                .nodes = {}};
  for (const json::object* node : objects_at(object, {"nodes"}))
    afterwards.nodes.push_back(parse_node_validation(*node));
  return afterwards;
}

ReportedJobAction parse_action(const json::object& object) {
  return {.choice = std::string(text_at(object, {"choice"})),
          .state = std::string(text_at(object, {"state"})),
          .message = std::string(text_at(object, {"message"})),
          .steps = texts_at(object, {"steps"}),
          .time = time_at(object, "time")};
}

std::optional<double> real_at(const json::object& object, std::string_view name) {
  const json::value* value = value_at(object, {name});
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

void read_job_spec(const json::object& spec, JobHealthReport& report) {
  report.job = text_at(spec, {"job"});
  report.name = text_at(spec, {"name"});
  report.owner = text_at(spec, {"owner"});
  report.health = text_at(spec, {"health"});
  report.culprit = text_at(spec, {"culprit"});
  report.since = time_at(spec, "since");
  report.node_count = number_at(spec, {"nodeCount"}).value_or(0);
  report.nodes = texts_at(spec, {"nodes"});
  report.attempt = number_at(spec, {"attempt"}).value_or(1);
  report.step = number_at(spec, {"step"});
  report.step_s = real_at(spec, "stepSeconds");
  report.progress_source = text_at(spec, {"progressSource"});
  report.started = time_at(spec, "started");
  report.ended = time_at(spec, "ended");
  report.outcome = text_at(spec, {"outcome"});
  for (const json::object* finding : objects_at(spec, {"findings"}))
    report.findings.push_back(parse_finding(*finding));
  if (const json::object* failure = object_at(spec, {"failure"})) report.failure = parse_failure(*failure);
  if (const json::object* afterwards = object_at(spec, {"afterwards"}))
    report.afterwards = parse_afterwards(*afterwards);
  report.not_seen = texts_at(spec, {"notSeen"});
  report.updated = time_at(spec, "updated");
}

}  // namespace

std::string job_health_reports_path(std::string_view name_space) {
  std::string path = "/apis/" + std::string(kJobReportVersion);
  if (!name_space.empty()) path.append("/namespaces/").append(name_space);
  return path + "/jobhealthreports";
}

std::string job_health_report_name(std::string_view job) {
  std::string name;
  for (const char c : job.substr(job.rfind('/') == std::string_view::npos ? 0 : job.rfind('/') + 1)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte < 0x80 && std::isalnum(byte) != 0;
    if (is_plain)
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-')
      name += '-';
    if (name.size() == kLongestJobName) break;
  }
  while (name.ends_with('-'))
    name.pop_back();
  return (name.empty() ? "job" : name) + '-' + stable_hash(job).hex().substr(0, kJobDigits);
}

JobHealthReport parse_job_health_report(const JsonObject& object) {
  JobHealthReport report;
  report.meta = parse_meta(object);
  if (const json::object* spec = object_at(object.value, {"spec"})) read_job_spec(*spec, report);
  report.memory = text_at(object.value, {"status", "memory"});
  if (const json::object* actions = object_at(object.value, {"actions"}))
    for (const auto& [finding, action] : *actions)
      if (const json::object* held = action.if_object())
        report.actions.emplace(std::string(finding), parse_action(*held));
  return report;
}

Result<JobHealthReport> parse_job_health_report(std::string_view text) {
  JobHealthReport report;
  TRY_STATUS(
      read_object(text, [&report](const JsonObject& object) { report = parse_job_health_report(object); }));
  return report;
}

std::string job_health_report_json(std::string_view name, const JobHealthReport& report) {
  return json::serialize(json::object{{"apiVersion", kJobReportVersion},
                                      {"kind", "JobHealthReport"},
                                      {"metadata", json::object{{"name", name}}},
                                      {"spec", bounded_spec(report)},
                                      {"status", status_of(report)}});
}

// Members that the report does not have any more are removed: a merge patch keeps what it does not name.
std::string job_health_report_patch(const JobHealthReport& report) {
  json::object spec = bounded_spec(report);
  if (report.failure)
    add_nulls(spec.at("failure").get_object(), {"culprit", "time", "evidence", "notAvailable"});
  add_nulls(spec, {"culprit", "step", "stepSeconds", "progressSource", "ended", "outcome", "failure",
                   "afterwards", "notSeen", "nodes", "since", "started"});
  json::object status = status_of(report);
  add_nulls(status, {"memory"});
  return json::serialize(json::object{{"spec", std::move(spec)}, {"status", std::move(status)}});
}

std::string job_action_patch(std::string_view finding, const ReportedJobAction& action) {
  return json::serialize(json::object{{"actions", json::object{{finding, to_json(action)}}}});
}

}  // namespace autopilot::kube
