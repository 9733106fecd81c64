// SPDX-License-Identifier: Apache-2.0
#include "jobs/held_job.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::jobs {

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
  report.started = earlier.started;
  report.ended = now;
  report.outcome = Outcome::unknown;
  std::vector<JobFinding> open = take_over(std::move(earlier), now);
  settle_actions(now);
  return open;
}

Request request_of(const std::string& job, const DoneAction& action) {
  return {.job = job,
          .choice = action.choice,
          .culprit = action.culprit,
          .cause = action.cause,
          .is_known = true};
}

}  // namespace autopilot::jobs
