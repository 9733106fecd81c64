// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "jobs/brain.hpp"

namespace autopilot::jobs {

// What a brain remembers of one job beyond its engine.
struct HeldJob {
  static constexpr Duration kDay = std::chrono::hours(24);  // for which actions are remembered

  JobReport report;  // `findings`: open ones only; without `sent`
  std::deque<JobFinding> ended_findings;
  std::set<std::string> acted;  // ids of open findings
  std::map<std::string, WallTime> offered;
  bool is_in_engine = false;
  bool is_changed = true;

  [[nodiscard]] const JobFinding* open(std::string_view finding) const;
  // Open or ended.
  [[nodiscard]] bool has(std::string_view finding) const;
  // The job hangs or crashed because of the same part: one message is enough.
  [[nodiscard]] bool has_worse_about(const JobFinding& finding) const;
  [[nodiscard]] bool is_acknowledged(std::string_view finding) const;

  void add_done(const WantedAction& action, bool waits, WallTime now);
  // A checkpoint ended at that time, or the job.
  void settle_actions(WallTime time);

  // Takes over what an earlier brain knew of the job. Returns its open findings, unconfirmed.
  [[nodiscard]] std::vector<JobFinding> take_over(JobReport earlier, WallTime now);
  // The same for a job that has ended unseen.
  [[nodiscard]] std::vector<JobFinding> end_absent(JobReport earlier, WallTime now);
};

// The request to the guard rails that the action was.
[[nodiscard]] Request request_of(const std::string& job, const DoneAction& action);

}  // namespace autopilot::jobs
