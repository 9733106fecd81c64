// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
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
  // Nodes of this attempt, also nodes that left it.
  std::set<std::string, std::less<>> nodes;
  WallTime attempt_began{};
  std::map<std::string, ValidationRecord, std::less<>> validations;  // by node; see take_validation
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

  // A new attempt forgets the validations after the one before.
  void note_nodes(const JobRecord& record);
  // Full texts are kept of kDetailed nodes only, and of none that passed. False: the job did not run there,
  // or a later validation of the node is known. A result from before this attempt is not kept.
  [[nodiscard]] bool take_validation(const ValidationRecord& record);
  static constexpr std::size_t kDetailed = 32;
  // nullopt: there is no validation. While the job runs, of nodes that left it only: others may have their
  // result of the attempt before.
  [[nodiscard]] std::optional<Afterwards> afterwards() const;

  // Takes over what an earlier brain knew of the job. Returns its open findings, unconfirmed.
  [[nodiscard]] std::vector<JobFinding> take_over(JobReport earlier, WallTime now);
  // The same for a job that has ended unseen.
  [[nodiscard]] std::vector<JobFinding> end_absent(JobReport earlier, WallTime now);
};

[[nodiscard]] std::vector<std::string> nodes_of(const JobRecord& record);  // each once

// The request to the guard rails that the action was.
[[nodiscard]] Request request_of(const std::string& job, const DoneAction& action);

}  // namespace autopilot::jobs
