// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/evidence_watch.hpp"

#include <algorithm>
#include <utility>

#include "jobs/decision/alert.hpp"

namespace autopilot::agent {

void EvidenceWatch::look(const std::vector<api::SuspectedJob>& suspected, const collect::SeenJobs& seen,
                         WallTime now, const Start& start) {
  for (const api::SuspectedJob& one : suspected) {
    const auto job = std::ranges::find_if(
        seen.jobs, [&](const collect::SeenJob& known) { return known.record.job == one.job; });
    if (job == seen.jobs.end() || job->processes.empty()) continue;
    const bool is_stalled = one.finding.empty();
    const std::string key = is_stalled ? "job " + one.job : one.finding;
    const auto before = captured_.find(key);
    if (before != captured_.end() && (!is_stalled || now - before->second < kStalledPause)) continue;
    const std::string id =
        is_stalled ? "stalled-" + jobs::finding_id(one.job, jobs::Effect::none, {}, now) : one.finding;
    if (!start({.finding = id,
                .job = one.job,
                .time = now,
                .processes = job->processes,
                .has_local_ranks = job->record.has_local_ranks}))
      continue;
    captured_.insert_or_assign(key, now);
    if (captured_.size() > kMostRemembered)
      captured_.erase(std::ranges::min_element(captured_, {}, [](const auto& each) { return each.second; }));
  }
}

}  // namespace autopilot::agent
