// SPDX-License-Identifier: Apache-2.0
#include "job_hub/suspects.hpp"

#include <utility>

namespace autopilot::job_hub {

std::vector<api::SuspectedJob> suspicions_of(const jobs::JobReport& report) {
  std::vector<api::SuspectedJob> found;
  if (report.ended) return found;
  for (const jobs::JobFinding& finding : report.findings)
    if (finding.effect == jobs::Effect::hang && !finding.resolved)
      found.push_back({.job = report.state.job, .finding = finding.id});
  if (found.empty() && report.state.health == jobs::JobHealth::stalled)
    found.push_back({.job = report.state.job, .finding = {}});
  return found;
}

void Suspects::note(const std::vector<jobs::JobReport>& changed) {
  for (const jobs::JobReport& report : changed) {
    auto reasons = suspicions_of(report);
    if (reasons.empty()) {
      jobs_.erase(report.state.job);
      continue;
    }
    if (jobs_.size() >= kMostJobs && !jobs_.contains(report.state.job)) continue;
    jobs_.insert_or_assign(report.state.job,
                           Suspect{std::move(reasons), {report.nodes.begin(), report.nodes.end()}});
  }
}

std::vector<api::SuspectedJob> Suspects::of(const std::string& node) const {
  std::vector<api::SuspectedJob> found;
  for (const auto& [job, suspect] : jobs_) {
    if (!suspect.nodes.contains(node)) continue;
    for (const api::SuspectedJob& reason : suspect.reasons)
      if (found.size() < api::JobBatchAnswer::kMostSuspected) found.push_back(reason);
  }
  return found;
}

}  // namespace autopilot::job_hub
