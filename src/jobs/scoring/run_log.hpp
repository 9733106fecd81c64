// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/findings.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

// A finding from its first report to its last state.
struct LoggedFinding {
  JobFinding finding;                 // as reported last
  std::optional<WallTime> raised;     // first time with more than severity info; not set: never
  std::optional<WallTime> last_step;  // the last step of its job that ended before `raised`
};

// The exposure that rates refer to.
struct Exposure {
  WallTime begin{};
  WallTime end{};
  double node_days = 0;
  double job_days = 0;
};

// What score() needs of a run of the engine: which nodes and jobs there were, when steps ended, and what was
// reported when. Pure.
class RunLog {
 public:
  // Nodes, jobs and findings in all; what exceeds a limit is counted in `dropped`.
  static constexpr std::size_t kMaxNames = 100'000;
  static constexpr std::size_t kMaxFindings = 100'000;

  void add(const Record& record);
  // `now` is the time of the engine at which it reported the finding.
  void add(const JobFinding& finding, WallTime now);

  // In the order of their first report.
  [[nodiscard]] const std::vector<LoggedFinding>& findings() const { return findings_; }
  // A node counts from its first record, a job from its start to its end, both within the time from `begin`
  // to `end`; where one is not set, from the first, and to the last record.
  [[nodiscard]] Exposure exposure(std::optional<WallTime> begin, std::optional<WallTime> end) const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Run {
    WallTime begin{};
    std::optional<WallTime> end;  // not set: it runs
  };
  struct Job {
    std::vector<Run> runs;
    std::optional<WallTime> last_step;
  };

  Job* find_job(const std::string& name);
  void note(const NodeRecord& record);
  void note(const WindowRecord& record);
  void note(const JobRecord& record);
  void note(const JobEndRecord& record);
  void note(const StepRecord& record);
  template <class R>
  void note(const R&) {}
  void note_node(const std::string& node, WallTime time);

  std::map<std::string, WallTime, std::less<>> nodes_;
  std::map<std::string, Job, std::less<>> jobs_;
  std::vector<LoggedFinding> findings_;
  std::map<std::string, std::size_t, std::less<>> positions_;  // of findings, by id
  std::optional<WallTime> first_, last_;
  std::uint64_t dropped_ = 0;
};

}  // namespace autopilot::jobs
