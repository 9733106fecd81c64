// SPDX-License-Identifier: Apache-2.0
#include "api/jobs_v1.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "api/job_findings.hpp"
#include "api/job_words.hpp"
#include "api/wire.hpp"
#include "core/word_table.hpp"

namespace autopilot::api {
namespace {

constexpr std::size_t kLongestFindingId = 64;
constexpr std::size_t kLongestFeedbackNote = 1024;
constexpr std::size_t kLongestJob = 253;

constexpr WordTable<jobs::Verdict, 3> kVerdicts{{{jobs::Verdict::confirmed, "confirmed"},
                                                 {jobs::Verdict::refuted, "refuted"},
                                                 {jobs::Verdict::unclear, "unclear"}}};
constexpr WordTable<JobBrain, 3> kBrains{{{JobBrain::agent, "agent"},
                                          {JobBrain::controller, "controller"},
                                          {JobBrain::coordinator, "coordinator"}}};

std::optional<JobBrain> parse_brain(std::string_view word) {
  return value_of(kBrains, word);
}
std::optional<jobs::JobKind> parse_job_kind(std::string_view word) {
  return value_of(job_format::kJobKinds, word);
}
std::optional<jobs::Outcome> parse_outcome(std::string_view word) {
  return value_of(job_format::kOutcomes, word);
}
std::optional<jobs::ValidationVerdict> parse_node_verdict(std::string_view word) {
  return value_of(job_format::kValidationVerdicts, word);
}
std::optional<jobs::FailureKind> parse_failure_kind(std::string_view word) {
  using enum jobs::FailureKind;
  for (const jobs::FailureKind kind : {hardware, application, infrastructure, unclear})
    if (jobs::to_string(kind) == word) return kind;
  return std::nullopt;
}

void write_failure(JsonWriter& json, const jobs::Failure& failure) {
  json.begin_object("failure");
  json.word("kind", jobs::to_string(failure.kind));
  json.word("cause", failure.cause);
  write_culprit(json, failure.culprit);
  if (failure.rank) json.integer("rank", *failure.rank);
  json.word_if_any("node", failure.node);
  if (failure.gpu) json.integer("gpu", *failure.gpu);
  json.time_if_any("time", failure.time);
  json.word("sentence", failure.sentence);
  write_evidence(json, failure.evidence);
  json.words("notAvailable", failure.not_available);
  json.end_object();
}

jobs::Failure read_failure(const JsonObject& object) {
  jobs::Failure failure;
  failure.kind = object.choice("kind", parse_failure_kind);
  failure.cause = object.word("cause");
  failure.culprit = object.object("culprit", read_culprit);
  if (object.has("rank")) failure.rank = object.small_integer("rank");
  failure.node = object.word_or_empty("node");
  if (object.has("gpu")) failure.gpu = object.small_integer("gpu");
  failure.time = object.time_if_any("time").value_or(WallTime{});
  failure.sentence = object.word("sentence");
  failure.evidence = object.list("evidence", read_evidence);
  failure.not_available = object.words("notAvailable");
  return failure;
}

void write_findings(JsonWriter& json, const std::vector<jobs::JobFinding>& findings, bool is_listed) {
  json.begin_list("findings");
  for (const jobs::JobFinding& finding : findings) {
    if (is_listed && finding.resolved) continue;
    json.begin_object();
    if (is_listed && finding.ranks.size() > kListedRanks) {
      jobs::JobFinding shortened = finding;
      shortened.ranks.resize(kListedRanks);
      write_members(json, shortened);
    } else {
      write_members(json, finding);
    }
    json.end_object();
  }
  json.end_list();
}

void write_validation_of_node(JsonWriter& json, const jobs::ValidationRecord& one) {
  json.begin_object();
  json.word("node", one.node);
  json.time("time", one.time);
  json.word("verdict", word_of(job_format::kValidationVerdicts, one.verdict));
  json.word_if_any("text", one.text);
  json.begin_list("failed");
  for (const jobs::FailedCheck& failed : one.failed) {
    json.begin_object();
    json.word("check", failed.check);
    json.word_if_any("reason", failed.reason);
    json.word_if_any("gpu", failed.gpu);
    json.word_if_any("text", failed.text);
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

void write_afterwards(JsonWriter& json, const jobs::Afterwards& afterwards) {
  json.begin_object("afterwards");
  json.word("text", jobs::sentence_of(afterwards));
  json.integer("nodes", afterwards.nodes);
  json.integer("passed", afterwards.passed);
  json.integer("failed", afterwards.failed);
  json.integer("unknown", afterwards.unknown);
  json.begin_list("notPassed");
  for (const jobs::ValidationRecord& one : afterwards.not_passed)
    write_validation_of_node(json, one);
  json.end_list();
  json.word_if_any("cause", afterwards.cause);
  json.end_object();
}

jobs::FailedCheck read_failed_check(const JsonObject& object) {
  return {.check = object.word("check"),
          .reason = object.word_or_empty("reason"),
          .gpu = object.word_or_empty("gpu"),
          .text = object.word_or_empty("text")};
}

jobs::ValidationRecord read_validation_of_node(const JsonObject& object) {
  return {.time = object.time("time"),
          .node = object.word("node"),
          .job = {},
          .id = {},
          .verdict = object.choice("verdict", parse_node_verdict),
          .text = object.word_or_empty("text"),
          .failed = object.list("failed", read_failed_check)};
}

jobs::Afterwards read_afterwards(const JsonObject& object) {
  return {.nodes = object.small_integer("nodes"),
          .passed = object.small_integer("passed"),
          .failed = object.small_integer("failed"),
          .unknown = object.small_integer("unknown"),
          .not_passed = object.list("notPassed", read_validation_of_node),
          .cause = object.word_or_empty("cause")};
}

void write_report(JsonWriter& json, const jobs::JobReport& report, bool is_listed) {
  write_members(json, report.state);
  json.word_if_any("owner", report.owner);
  json.word("kind", word_of(job_format::kJobKinds, report.kind));
  if (!is_listed) json.words("nodeNames", report.nodes);
  json.time_if_any("started", report.started);
  if (report.ended) json.time("ended", *report.ended);
  if (report.outcome) json.word("outcome", word_of(job_format::kOutcomes, *report.outcome));
  if (report.failure) write_failure(json, *report.failure);
  if (!is_listed && report.afterwards) write_afterwards(json, *report.afterwards);
  write_findings(json, report.findings, is_listed);
  if (!is_listed) write_feedback(json, report.feedback);
  write_acknowledged(json, report.acknowledged);
  json.flag("muted", report.is_muted);
}

jobs::JobReport read_report(const JsonObject& object) {
  jobs::JobReport report;
  report.state = read_job_state(object);
  report.owner = object.word_or_empty("owner");
  report.kind = object.choice("kind", parse_job_kind);
  if (object.has("nodeNames")) report.nodes = object.words("nodeNames");
  report.started = object.time_if_any("started").value_or(WallTime{});
  report.ended = object.time_if_any("ended");
  if (object.has("outcome")) report.outcome = object.choice("outcome", parse_outcome);
  if (object.has("failure")) report.failure = object.object("failure", read_failure);
  if (object.has("afterwards")) {
    report.afterwards = object.object("afterwards", read_afterwards);
    for (jobs::ValidationRecord& one : report.afterwards->not_passed)
      one.job = report.state.job;
  }
  report.findings = object.list("findings", read_job_finding);
  if (object.has("feedback")) report.feedback = object.list("feedback", read_feedback);
  report.acknowledged = object.list("acknowledged", read_acknowledgement);
  report.is_muted = object.flag("muted");
  return report;
}

JobList read_job_list(const JsonObject& object) {
  JobList list;
  list.time = object.time_if_any("time").value_or(WallTime{});
  list.node = object.word_or_empty("node");
  list.brain = object.choice("brain", parse_brain);
  list.jobs = object.list("jobs", read_report);
  list.sources = object.words("sources");
  list.not_seen = object.words("notSeen");
  list.is_simulated = object.flag("simulated");
  return list;
}

Status check_text(std::string_view name, const std::string& text, std::size_t longest, bool is_required) {
  if (is_required && text.empty()) return fail(Errc::malformed, std::string(name) + ": expected a text");
  if (text.size() <= longest) return {};
  return fail(Errc::malformed, std::string(name) + ": at most " + std::to_string(longest) + " bytes");
}

JobFeedbackRequest read_feedback_request(const JsonObject& object) {
  object.has_only({"finding", "verdict", "note"});
  return {.finding = object.word("finding"),
          .verdict = object.choice("verdict", parse_job_verdict),
          .note = object.word_or_empty("note")};
}

JobAckRequest read_ack_request(const JsonObject& object) {
  object.has_only({"finding"});
  return {.finding = object.word("finding")};
}

JobMuteRequest read_mute_request(const JsonObject& object) {
  object.has_only({"job", "seconds"});
  return {.job = object.word("job"), .duration = object.seconds("seconds")};
}

}  // namespace

void write_feedback(JsonWriter& json, const std::vector<jobs::Feedback>& feedback) {
  json.begin_list("feedback");
  for (const jobs::Feedback& stated : feedback) {
    json.begin_object();
    json.time("time", stated.time);
    json.word("finding", stated.finding);
    json.word("verdict", to_string(stated.verdict));
    json.word_if_any("by", stated.by);
    json.word_if_any("note", stated.note);
    json.end_object();
  }
  json.end_list();
}

void write_acknowledged(JsonWriter& json, const std::vector<jobs::Acknowledgement>& acknowledged) {
  json.begin_list("acknowledged");
  for (const jobs::Acknowledgement& held : acknowledged) {
    json.begin_object();
    json.time("time", held.time);
    json.word("finding", held.finding);
    json.word_if_any("by", held.by);
    json.end_object();
  }
  json.end_list();
}

jobs::Feedback read_feedback(const JsonObject& object) {
  return {.time = object.time("time"),
          .finding = object.word("finding"),
          .verdict = object.choice("verdict", parse_job_verdict),
          .by = object.word_or_empty("by"),
          .note = object.word_or_empty("note")};
}

jobs::Acknowledgement read_acknowledgement(const JsonObject& object) {
  return {.time = object.time("time"), .finding = object.word("finding"), .by = object.word_or_empty("by")};
}

std::string_view to_string(JobBrain brain) {
  return word_of(kBrains, brain);
}

std::string_view to_string(jobs::Verdict verdict) {
  return word_of(kVerdicts, verdict);
}

std::optional<jobs::Verdict> parse_job_verdict(std::string_view word) {
  return value_of(kVerdicts, word);
}

std::string to_json(const JobList& list) {
  JsonWriter json;
  json.begin_object();
  json.flag("simulated", list.is_simulated);
  json.word("brain", to_string(list.brain));
  json.word_if_any("node", list.node);
  json.time_if_any("time", list.time);
  json.begin_list("jobs");
  for (const jobs::JobReport& report : list.jobs) {
    json.begin_object();
    write_report(json, report, true);
    json.end_object();
  }
  json.end_list();
  json.words("sources", list.sources);
  json.words("notSeen", list.not_seen);
  json.end_object();
  return json.take();
}

Result<JobList> parse_jobs(std::string_view json) {
  return read_text(json, read_job_list);
}

std::string to_json(const jobs::JobReport& report, bool is_simulated) {
  JsonWriter json;
  json.begin_object();
  json.flag("simulated", is_simulated);
  write_report(json, report, false);
  json.end_object();
  return json.take();
}

Result<jobs::JobReport> parse_job(std::string_view json) {
  return read_text(json, read_report);
}

std::string to_json(const JobFeedbackRequest& request) {
  JsonWriter json;
  json.begin_object();
  json.word("finding", request.finding);
  json.word("verdict", to_string(request.verdict));
  json.word_if_any("note", request.note);
  json.end_object();
  return json.take();
}

Result<JobFeedbackRequest> parse_job_feedback(std::string_view json) {
  auto request = TRY(read_text(json, read_feedback_request));
  TRY_STATUS(check_text("finding", request.finding, kLongestFindingId, true));
  TRY_STATUS(check_text("note", request.note, kLongestFeedbackNote, false));
  return request;
}

std::string to_json(const JobAckRequest& request) {
  JsonWriter json;
  json.begin_object();
  json.word("finding", request.finding);
  json.end_object();
  return json.take();
}

Result<JobAckRequest> parse_job_ack(std::string_view json) {
  auto request = TRY(read_text(json, read_ack_request));
  TRY_STATUS(check_text("finding", request.finding, kLongestFindingId, true));
  return request;
}

std::string to_json(const JobMuteRequest& request) {
  JsonWriter json;
  json.begin_object();
  json.word("job", request.job);
  json.number("seconds", to_seconds(request.duration));
  json.end_object();
  return json.take();
}

Result<JobMuteRequest> parse_job_mute(std::string_view json) {
  auto request = TRY(read_text(json, read_mute_request));
  TRY_STATUS(check_text("job", request.job, kLongestJob, true));
  if (request.duration < Duration{0} || request.duration > JobMuteRequest::kLongest)
    return fail(Errc::malformed, "seconds: expected 0 to 2592000 (30 days)");
  return request;
}

}  // namespace autopilot::api
