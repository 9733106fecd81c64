// SPDX-License-Identifier: Apache-2.0
#include "jobs/held_job.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::jobs {
namespace {

// The end of a job becomes known after its first nodes were validated; with a lost node, 10 minutes later.
constexpr Duration kEndIsLate = std::chrono::minutes(15);

bool has_text(const ValidationRecord& record) {
  return !record.text.empty() || !record.failed.empty();
}

// While the job runs on a node, or long before its end, a result is that of the attempt before.
bool is_after(const JobReport& report, const ValidationRecord& record) {
  const bool has_left = !std::ranges::binary_search(report.nodes, record.node);
  return has_left || (report.ended && record.time >= *report.ended - kEndIsLate);
}

int& count_of(Afterwards& after, ValidationVerdict verdict) {
  switch (verdict) {
    case ValidationVerdict::passed:
      return after.passed;
    case ValidationVerdict::failed:
      return after.failed;
    case ValidationVerdict::unknown:
      break;
  }
  return after.unknown;
}

// A single node that failed, of a job that failed for no reason of its own. Without most results, another
// node may have failed as well.
std::string probable_cause(const JobReport& report, const Afterwards& after) {
  const bool has_failed = report.outcome == Outcome::failed || report.failure;
  const bool is_own = report.failure && report.failure->kind == FailureKind::application;
  if (!has_failed || is_own || !after.has_most_verdicts() || after.failed != 1 ||
      after.not_passed.front().failed.empty())
    return {};
  return after.not_passed.front().failed.front().check + " on " + after.not_passed.front().node;
}

}  // namespace

const JobFinding* HeldJob::open(std::string_view finding) const {
  const auto found = std::ranges::find(report.findings, finding, &JobFinding::id);
  return found == report.findings.end() ? nullptr : &*found;
}

bool HeldJob::has(std::string_view finding) const {
  return open(finding) != nullptr ||
         std::ranges::find(ended_findings, finding, &JobFinding::id) != ended_findings.end();
}

bool HeldJob::has_worse_about(const JobFinding& finding) const {
  return (finding.effect == Effect::none || finding.effect == Effect::slow) &&
         std::ranges::any_of(report.findings, [&](const JobFinding& held) {
           return (held.effect == Effect::hang || held.effect == Effect::crash) &&
                  held.culprit == finding.culprit;
         });
}

bool HeldJob::is_acknowledged(std::string_view finding) const {
  return std::ranges::find(report.acknowledged, finding, &Acknowledgement::finding) !=
         report.acknowledged.end();
}

void HeldJob::add_done(const WantedAction& action, bool waits, WallTime now) {
  auto& done = report.done;
  std::erase_if(done, [&](const DoneAction& held) { return now - held.time > kDay; });
  if (done.size() >= JobReport::kMaxDone) done.erase(done.begin());
  done.push_back({.time = now,
                  .finding = action.finding.id,
                  .choice = action.request.choice,
                  .culprit = action.request.culprit,
                  .cause = action.request.cause,
                  .part = action.part,
                  .waits = waits});
}

void HeldJob::settle_actions(WallTime time) {
  for (DoneAction& action : report.done)
    action.is_settled = action.is_settled || action.time <= time;
}

void HeldJob::note_nodes(const JobRecord& record) {
  if (record.attempt != report.state.attempt || report.ended) {
    nodes.clear();
    validations.clear();
    attempt_began = record.time;
  }
  for (const RankRecord& rank : record.ranks)
    nodes.insert(rank.node);
}

bool HeldJob::take_validation(const ValidationRecord& record) {
  if (!nodes.contains(record.node)) return false;
  if (record.time < attempt_began) return true;
  const auto known = validations.find(record.node);
  if (known != validations.end() && record.time < known->second.time) return false;
  if (known != validations.end()) validations.erase(known);
  const bool is_detailed =
      record.verdict != ValidationVerdict::passed && std::ranges::count_if(validations, [](const auto& each) {
                                                       return has_text(each.second);
                                                     }) < static_cast<std::ptrdiff_t>(kDetailed);
  ValidationRecord& held = validations[record.node];
  held = is_detailed ? record
                     : ValidationRecord{.time = record.time,
                                        .node = record.node,
                                        .job = record.job,
                                        .id = record.id,
                                        .depth = record.depth,
                                        .verdict = record.verdict,
                                        .text = {},
                                        .failed = {}};
  return true;
}

std::optional<Afterwards> HeldJob::afterwards() const {
  Afterwards after{.nodes = static_cast<int>(nodes.size())};
  std::vector<const ValidationRecord*> counted;
  for (const auto& [node, one] : validations)
    if (is_after(report, one)) counted.push_back(&one);
  if (counted.empty()) return std::nullopt;
  for (const ValidationRecord* one : counted)
    ++count_of(after, one->verdict);
  for (const ValidationVerdict verdict : {ValidationVerdict::failed, ValidationVerdict::unknown})
    for (const ValidationRecord* one : counted)
      if (one->verdict == verdict && after.not_passed.size() < Afterwards::kMostShown)
        after.not_passed.push_back(*one);
  after.cause = probable_cause(report, after);
  return after;
}

std::vector<JobFinding> HeldJob::take_over(JobReport earlier, WallTime now) {
  report.feedback = std::move(earlier.feedback);
  report.muted_until = earlier.muted_until;
  report.is_muted = earlier.muted_until && *earlier.muted_until > now;
  report.done = std::move(earlier.done);
  std::vector<JobFinding> open;
  for (JobFinding& finding : earlier.findings) {
    if (finding.resolved) {
      ended_findings.push_back(std::move(finding));
      continue;
    }
    finding.is_confirmed = false;
    finding.decision.is_recommendation = true;
    finding.decision.because = "Found before the evaluation began anew: it acts when new windows confirm it";
    open.push_back(std::move(finding));
  }
  const auto is_open = [&](const std::string& id) {
    return std::ranges::find(open, id, &JobFinding::id) != open.end();
  };
  for (Acknowledgement& held : earlier.acknowledged)
    if (is_open(held.finding)) report.acknowledged.push_back(std::move(held));
  for (const DoneAction& action : report.done)
    if (is_open(action.finding)) acted.insert(action.finding);
  return open;
}

std::vector<JobFinding> HeldJob::end_absent(JobReport earlier, WallTime now) {
  report.state = earlier.state;
  report.state.health = JobHealth::ended;
  report.owner = earlier.owner;
  report.nodes = earlier.nodes;
  nodes = {earlier.nodes.begin(), earlier.nodes.end()};
  report.started = earlier.started;
  report.ended = now;
  report.outcome = Outcome::unknown;
  std::vector<JobFinding> open = take_over(std::move(earlier), now);
  settle_actions(now);
  return open;
}

std::vector<std::string> nodes_of(const JobRecord& record) {
  std::set<std::string> nodes;
  for (const RankRecord& rank : record.ranks)
    nodes.insert(rank.node);
  return {nodes.begin(), nodes.end()};
}

Request request_of(const std::string& job, const DoneAction& action) {
  return {.job = job,
          .choice = action.choice,
          .culprit = action.culprit,
          .cause = action.cause,
          .is_known = true};
}

}  // namespace autopilot::jobs
