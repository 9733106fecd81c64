// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "learning/report/node_time.hpp"

namespace autopilot::learning {

// GPU-hours of jobs that failed by hardware.
struct LostGpuHours {
  std::size_t jobs = 0;        // with the failure `hardware`
  std::size_t of_unknown = 0;  // of these, without a known number of GPUs: not in `most_hours`
  // From the start of the job to its end on all of its GPUs: an upper bound, as if it had written no
  // checkpoint. nullopt: no job with a known number of GPUs.
  std::optional<double> most_hours;
  std::optional<double> most_cost;    // most_hours * price; nullopt: no price
  std::size_t failed_of_unknown = 0;  // failed jobs whose cause is unknown: not in `jobs`
};

// Jobs by their end. A job is counted once, also if it ran on many nodes.
struct JobFigures {
  std::size_t records = 0;                // one for each job and node
  std::size_t ended = 0;                  // jobs that ended in the interval
  std::size_t running = 0;                // at the end of the interval
  std::array<std::size_t, 5> outcomes{};  // of these that ended, in the order of JobOutcome
  LostGpuHours lost;
};

// Outcome of a job with different outcomes on its nodes: failed before stopped, preempted, completed,
// unknown.
[[nodiscard]] JobFigures job_figures(const ReportRecords& records, const ReportInterval& interval,
                                     std::optional<double> gpu_hour_price);

// Validations that end in the interval.
struct ValidationFigures {
  std::array<std::size_t, 3> verdicts{};  // in the order of Verdict
  std::size_t compared = 0;  // with an earlier validation of the node and a check that answered in both
  std::size_t worse = 0;     // of these, a check found something that it did not find then, or more of it
};

[[nodiscard]] ValidationFigures validation_figures(const ReportRecords& records,
                                                   const ReportInterval& interval);

}  // namespace autopilot::learning
