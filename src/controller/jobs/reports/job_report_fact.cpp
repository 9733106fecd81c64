// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/reports/job_report_fact.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "api/job_words.hpp"
#include "controller/jobs/memory/job_memory.hpp"
#include "controller/jobs/owner/marks.hpp"

namespace autopilot::controller {
namespace {

std::vector<std::string> texts_of(std::span<const jobs::Evidence> evidence) {
  std::vector<std::string> texts;
  for (const jobs::Evidence& one : evidence)
    if (texts.size() < kube::JobHealthReport::kMostEvidence) texts.push_back(one.text);
  return texts;
}

kube::ReportedJobFinding fact_of(const jobs::JobFinding& finding) {
  return {.id = finding.id,
          .effect = std::string(jobs::to_string(finding.effect)),
          .severity = std::string(jobs::to_string(finding.severity)),
          .culprit = jobs::to_string(finding.culprit),
          .cause = finding.cause,
          .summary = finding.summary,
          .choice = std::string(jobs::to_string(finding.decision.choice)),
          .since = finding.onset,
          .resolved = finding.resolved,
          .evidence = texts_of(finding.evidence)};
}

kube::ReportedJobFailure fact_of(const jobs::Failure& failure) {
  return {.kind = std::string(jobs::to_string(failure.kind)),
          .cause = failure.cause,
          .culprit = jobs::to_string(failure.culprit),
          .sentence = failure.sentence,
          .time = failure.time,
          .evidence = texts_of(failure.evidence),
          .not_available = failure.not_available};
}

kube::ReportedAfterwards fact_of(const jobs::Afterwards& afterwards) {
  kube::ReportedAfterwards fact{.text = jobs::sentence_of(afterwards),
                                .passed = afterwards.passed,
                                .failed = afterwards.failed,
                                .unknown = afterwards.unknown,
                                .nodes = {}};
  for (const jobs::ValidationRecord& one : afterwards.not_passed)
    fact.nodes.push_back({.node = one.node,
                          .verdict = std::string(word_of(api::job_format::kValidationVerdicts, one.verdict)),
                          .text = jobs::fault_text_of(one),
                          .time = one.time});
  return fact;
}

}  // namespace

kube::JobHealthReport job_report_fact(const jobs::JobReport& report, WallTime now) {
  kube::JobHealthReport fact;
  const jobs::JobState& state = report.state;
  fact.job = state.job;
  fact.name = state.name;
  fact.owner = report.owner;
  fact.health = jobs::to_string(state.health);
  if (report.started != WallTime{}) fact.since = fact.started = report.started;
  if (const jobs::JobFinding* worst = worst_open(report)) {
    fact.culprit = jobs::to_string(worst->culprit);
    fact.since = worst->onset;
  }
  fact.node_count = static_cast<std::int64_t>(report.nodes.size());
  fact.nodes = report.nodes;
  fact.attempt = state.attempt;
  fact.step = state.step;
  if (state.step_s && std::isfinite(*state.step_s)) fact.step_s = state.step_s;
  fact.progress_source = state.progress_source;
  fact.ended = report.ended;
  if (report.outcome) fact.outcome = word_of(api::job_format::kOutcomes, *report.outcome);
  for (const jobs::JobFinding& finding : report.findings)
    if (fact.findings.size() < kube::JobHealthReport::kMostFindings)
      fact.findings.push_back(fact_of(finding));
  if (report.failure) fact.failure = fact_of(*report.failure);
  if (report.afterwards) fact.afterwards = fact_of(*report.afterwards);
  fact.not_seen = state.not_seen;
  fact.updated = now;
  fact.memory = format_job_memory(report);
  return fact;
}

bool says_the_same(const kube::JobHealthReport& one, const kube::JobHealthReport& other) {
  return one.job == other.job && one.name == other.name && one.owner == other.owner &&
         one.health == other.health && one.culprit == other.culprit && one.nodes == other.nodes &&
         one.attempt == other.attempt && one.progress_source == other.progress_source &&
         one.started == other.started && one.ended == other.ended && one.outcome == other.outcome &&
         one.findings == other.findings && one.failure == other.failure &&
         one.afterwards == other.afterwards && one.not_seen == other.not_seen && one.memory == other.memory;
}

bool is_outdated(const kube::JobHealthReport& report, WallTime now) {
  const auto last = report.ended ? report.ended : report.updated;
  return last && now - *last > kKeepEnded;
}

}  // namespace autopilot::controller
