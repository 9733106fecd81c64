// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/memory/job_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "api/job_findings.hpp"
#include "api/jobs_v1.hpp"
#include "api/json.hpp"
#include "core/text.hpp"
#include "core/word_table.hpp"

namespace autopilot::controller {
namespace {

constexpr int kMemoryVersion = 1;
constexpr std::size_t kLongestId = 64;
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestSentence = 1024;
constexpr std::size_t kMostAcknowledged = 64;

constexpr WordTable<jobs::ActionPart, 2> kParts{
    {{jobs::ActionPart::whole, "whole"}, {jobs::ActionPart::after_checkpoint, "after_checkpoint"}}};

std::optional<jobs::ActionPart> parse_part(std::string_view word) {
  return value_of(kParts, word);
}

// What changes with every window is left out, so that equal facts give equal texts.
jobs::JobFinding shortened(const jobs::JobFinding& finding) {
  jobs::JobFinding kept = finding;
  kept.evidence.clear();
  kept.ruled_out.clear();
  kept.ranks.clear();
  kept.slowdown.reset();
  kept.probability = std::round(100 * finding.probability) / 100;
  kept.cause = cut_utf8(finding.cause, kLongestName);
  kept.summary = cut_utf8(finding.summary, kLongestSentence);
  kept.decision = {};
  kept.decision.choice = finding.decision.choice;
  return kept;
}

struct SentEntry {
  std::string finding;
  jobs::SentAlert alert;
};

struct Memory {
  int version = 0;
  jobs::JobReport report;
  std::vector<SentEntry> sent;
};

void write_sent(api::JsonWriter& json, const jobs::JobReport& report) {
  json.begin_list("sent");
  for (const auto& [finding, alert] : report.sent) {
    json.begin_object();
    json.word("finding", finding);
    json.time("time", alert.last);
    json.word("severity", jobs::to_string(alert.severity));
    json.flag_if_set("end", alert.is_resolved);
    json.end_object();
  }
  json.end_list();
}

void write_people(api::JsonWriter& json, const jobs::JobReport& report) {
  api::write_acknowledged(json, report.acknowledged);
  api::write_feedback(json, report.feedback);
  if (report.muted_until) json.time("mutedUntil", *report.muted_until);
}

void write_done(api::JsonWriter& json, const jobs::JobReport& report) {
  json.begin_list("done");
  for (const jobs::DoneAction& action : report.done) {
    json.begin_object();
    json.time("time", action.time);
    json.word("finding", action.finding);
    json.word("choice", jobs::to_string(action.choice));
    api::write_culprit(json, action.culprit);
    json.word_if_any("cause", action.cause);
    json.word("part", word_of(kParts, action.part));
    json.flag_if_set("settled", action.is_settled);
    json.flag_if_set("waits", action.waits);
    json.end_object();
  }
  json.end_list();
}

std::string text_of(const jobs::JobReport& report) {
  api::JsonWriter json;
  json.begin_object();
  json.integer("version", kMemoryVersion);
  json.begin_list("findings");
  for (const jobs::JobFinding& finding : report.findings) {
    json.begin_object();
    write_members(json, finding);
    json.end_object();
  }
  json.end_list();
  write_sent(json, report);
  write_people(json, report);
  write_done(json, report);
  json.end_object();
  std::string text = json.take();
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

// The findings and what is known of them, at most as many as fit.
jobs::JobReport stored_part(const jobs::JobReport& report) {
  jobs::JobReport kept;
  for (const jobs::JobFinding& finding : report.findings)
    if (kept.findings.size() < kMostRememberedFindings) kept.findings.push_back(shortened(finding));
  kept.sent = report.sent;
  kept.acknowledged = report.acknowledged;
  if (kept.acknowledged.size() > kMostAcknowledged) kept.acknowledged.resize(kMostAcknowledged);
  const std::size_t feedback = std::min(report.feedback.size(), kMostRememberedFeedback);
  kept.feedback.assign(report.feedback.end() - static_cast<std::ptrdiff_t>(feedback), report.feedback.end());
  kept.muted_until = report.muted_until;
  kept.done = report.done;
  return kept;
}

void forget_sent(jobs::JobReport& report) {
  std::erase_if(report.sent, [&](const auto& each) {
    return std::ranges::find(report.findings, each.first, &jobs::JobFinding::id) == report.findings.end();
  });
}

SentEntry read_sent(const api::JsonObject& object) {
  SentEntry entry;
  entry.finding = object.word("finding");
  entry.alert.last = object.time("time");
  entry.alert.severity = object.choice("severity", api::parse_job_severity);
  entry.alert.is_resolved = object.flag_or_false("end");
  return entry;
}

jobs::DoneAction read_done(const api::JsonObject& object) {
  jobs::DoneAction action;
  action.time = object.time("time");
  action.finding = object.word("finding");
  action.choice = object.choice("choice", api::parse_job_choice);
  action.culprit = object.object("culprit", api::read_culprit);
  action.cause = object.word_or_empty("cause");
  action.part = object.choice("part", parse_part);
  action.is_settled = object.flag_or_false("settled");
  action.waits = object.flag_or_false("waits");
  return action;
}

Memory read_memory(const api::JsonObject& object) {
  object.has_only({"version", "findings", "sent", "acknowledged", "feedback", "mutedUntil", "done"});
  Memory memory;
  memory.version = object.small_integer("version");
  memory.report.findings = object.list("findings", api::read_job_finding);
  memory.sent = object.list("sent", read_sent);
  memory.report.acknowledged = object.list("acknowledged", api::read_acknowledgement);
  memory.report.feedback = object.list("feedback", api::read_feedback);
  memory.report.muted_until = object.time_if_any("mutedUntil");
  memory.report.done = object.list("done", read_done);
  return memory;
}

Status check_length(std::string_view name, std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return {};
  return fail(Errc::malformed, std::string(name) + ": at most " + std::to_string(longest) + " bytes");
}

Status check_id(std::string_view id) {
  if (id.empty()) return fail(Errc::malformed, "finding: expected an id");
  return check_length("finding", id, kLongestId);
}

Status check_culprit(const jobs::Entity& culprit) {
  TRY_STATUS(check_length("node", culprit.node, kLongestName));
  return check_length("nic", culprit.nic, kLongestName);
}

Status check_finding(const jobs::JobFinding& finding, std::string_view job, std::set<std::string>& ids) {
  TRY_STATUS(check_id(finding.id));
  if (!ids.insert(finding.id).second) return fail(Errc::malformed, "two findings have the same id");
  if (finding.job != job) return fail(Errc::malformed, "a finding is about another job");
  TRY_STATUS(check_length("summary", finding.summary, kLongestSentence));
  TRY_STATUS(check_length("cause", finding.cause, kLongestName));
  if (!finding.evidence.empty() || !finding.ruled_out.empty() || !finding.ranks.empty())
    return fail(Errc::malformed, "a finding has evidence or ranks");
  if (!(finding.probability >= 0 && finding.probability <= 1))
    return fail(Errc::malformed, "probability: expected 0 to 1");
  return check_culprit(finding.culprit);
}

Status check_counts(const Memory& memory) {
  const jobs::JobReport& report = memory.report;
  if (memory.version != kMemoryVersion)
    return fail(Errc::malformed, "version " + std::to_string(memory.version) + " is not known");
  if (report.findings.size() > kMostRememberedFindings || memory.sent.size() > kMostRememberedFindings ||
      report.acknowledged.size() > kMostAcknowledged || report.feedback.size() > kMostRememberedFeedback ||
      report.done.size() > jobs::JobReport::kMaxDone)
    return fail(Errc::malformed, "a list is too long");
  return {};
}

Status check_memory(const Memory& memory, std::string_view job) {
  TRY_STATUS(check_counts(memory));
  std::set<std::string> ids;
  for (const jobs::JobFinding& finding : memory.report.findings)
    TRY_STATUS(check_finding(finding, job, ids));
  for (const SentEntry& entry : memory.sent)
    if (!ids.contains(entry.finding)) return fail(Errc::malformed, "a message is about another finding");
  for (const jobs::Acknowledgement& held : memory.report.acknowledged) {
    TRY_STATUS(check_id(held.finding));
    TRY_STATUS(check_length("by", held.by, kLongestName));
  }
  for (const jobs::Feedback& held : memory.report.feedback) {
    TRY_STATUS(check_id(held.finding));
    TRY_STATUS(check_length("by", held.by, kLongestName));
    TRY_STATUS(check_length("note", held.note, kLongestSentence));
  }
  for (const jobs::DoneAction& action : memory.report.done) {
    TRY_STATUS(check_id(action.finding));
    TRY_STATUS(check_length("cause", action.cause, kLongestName));
    TRY_STATUS(check_culprit(action.culprit));
  }
  return {};
}

// A time of the future would suppress messages or actions until then.
void limit_times(jobs::JobReport& report, WallTime now) {
  const auto limit = [now](WallTime& time) { time = std::min(time, now); };
  for (jobs::JobFinding& finding : report.findings) {
    limit(finding.onset);
    limit(finding.detected);
    if (finding.resolved) limit(*finding.resolved);
  }
  for (auto& [finding, alert] : report.sent)
    limit(alert.last);
  for (jobs::Acknowledgement& held : report.acknowledged)
    limit(held.time);
  for (jobs::Feedback& held : report.feedback)
    limit(held.time);
  for (jobs::DoneAction& action : report.done)
    limit(action.time);
  if (report.muted_until)
    report.muted_until = std::min(*report.muted_until, now + api::JobMuteRequest::kLongest);
}

}  // namespace

std::string format_job_memory(const jobs::JobReport& report) {
  jobs::JobReport kept = stored_part(report);
  while (true) {
    forget_sent(kept);
    if (kept.findings.empty() && kept.feedback.empty() && kept.done.empty() && !kept.muted_until) return {};
    std::string text = text_of(kept);
    if (text.size() <= kMaxMemoryBytes) return text;
    if (!kept.feedback.empty())
      kept.feedback.erase(kept.feedback.begin());
    else if (!kept.findings.empty())
      kept.findings.pop_back();
    else
      return {};
  }
}

Result<jobs::JobReport> parse_job_memory(std::string_view text, std::string_view job, WallTime now) {
  if (text.size() > kMaxMemoryBytes)
    return fail(Errc::malformed, "more than " + std::to_string(kMaxMemoryBytes) + " bytes");
  auto document = TRY(api::JsonDocument::parse(text));
  Memory memory = TRY(document.read(read_memory));
  TRY_STATUS(check_memory(memory, job));
  for (SentEntry& entry : memory.sent)
    memory.report.sent.insert_or_assign(std::move(entry.finding), entry.alert);
  memory.report.state.job = job;
  limit_times(memory.report, now);
  return std::move(memory.report);
}

}  // namespace autopilot::controller
