// SPDX-License-Identifier: Apache-2.0
#include "cli/job_replay.hpp"

#include <chrono>
#include <utility>

#include "cli/job_folder.hpp"
#include "cli/output/print.hpp"

namespace autopilot::cli {
namespace {

// The last full step that is not after `time`.
WallTime step_before(WallTime time) {
  return time - time.time_since_epoch() % JobReplay::kStep;
}

}  // namespace

void ProblemList::add(const std::string& problem) {
  if (++count_ <= kMostPrinted) tell(problem);
}

void ProblemList::finish() const {
  if (count_ == 0) return;
  const std::string first =
      count_ > kMostPrinted ? "; the first " + std::to_string(kMostPrinted) + " are above" : "";
  tell(std::to_string(count_) + (count_ == 1 ? " line is" : " lines are") + " malformed and left out" +
       first);
}

void JobReplay::advance(jobs::Engine& engine, WallTime until) {
  while (now_ + kStep <= until) {
    now_ += kStep;
    engine.advance(now_);
    for (const jobs::JobFinding& finding : engine.take())
      on_finding(finding, now_);
    if (options_.collects_scores) on_scores(engine.take_scores());
  }
}

Result<ReplaySummary> JobReplay::run(const std::string& path, ProblemList& problems) {
  auto folder = TRY(JobFolder::open(path, [&](const std::string& problem) { problems.add(problem); }));
  on_format(folder.format());
  jobs::Engine engine(options_);
  engine.set_weights(weights);
  ReplaySummary summary;
  while (auto next = TRY(folder.next())) {
    if (!summary.begin) {
      summary.begin = next->reached;
      now_ = step_before(next->reached) - kStep;
    }
    advance(engine, next->reached);
    summary.end = next->reached;
    on_record(next->record);
    engine.add(next->record);
  }
  // What the last records complete.
  if (summary.end) advance(engine, *summary.end + kStep);
  summary.jobs = engine.jobs();
  summary.counts = engine.counts();
  summary.lines = folder.lines();
  summary.bytes = folder.bytes();
  summary.malformed = problems.count();
  return summary;
}

}  // namespace autopilot::cli
