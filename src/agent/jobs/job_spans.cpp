// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/job_spans.hpp"

#include <utility>

namespace autopilot::agent {

std::vector<JobSpan> JobSpans::note(const collect::SeenJobs& seen) {
  std::vector<JobSpan> fresh;
  for (const collect::SeenJob& job : seen.jobs) {
    const auto [held, is_new] = held_.try_emplace(job.record.job);
    if (is_new) held->second.begin = seen.time;
    held->second.name = job.record.name;
    for (const collect::RankProcess& process : job.processes)
      held->second.gpus.insert(process.gpus.begin(), process.gpus.end());
    for (const jobs::RankRecord& rank : job.record.ranks)
      if (rank.gpu) held->second.gpus.insert(*rank.gpu);
    if (is_new)
      fresh.push_back(
          {.job = held->first, .name = held->second.name, .begin = seen.time, .end = {}, .gpus = {}});
  }
  return fresh;
}

JobSpan JobSpans::end(const jobs::JobEndRecord& record) {
  JobSpan span{.job = record.job, .name = record.job, .begin = record.time, .end = record.time, .gpus = {}};
  auto held = held_.extract(record.job);
  if (!held) return span;
  span.name = std::move(held.mapped().name);
  span.begin = held.mapped().begin;
  span.gpus.assign(held.mapped().gpus.begin(), held.mapped().gpus.end());
  return span;
}

}  // namespace autopilot::agent
