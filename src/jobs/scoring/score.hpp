// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/labels.hpp"
#include "jobs/scoring/intervals.hpp"
#include "jobs/scoring/run_log.hpp"

namespace autopilot::jobs {

// Time from the onset of a fault to its true detection; of a hang from the last step that ended.
struct Delays {
  std::size_t count = 0;
  std::optional<double> median_s, p90_s;
};

// The faults of one class and magnitude.
struct ClassScore {
  std::string fault_class;
  std::string magnitude;  // "5 %", "10 %", "20 %", "30 %", "50 %": the nearest; empty: not stated
  std::size_t faults = 0;
  std::size_t detected = 0;
  std::optional<Estimate> recall;
  Delays delays;
};

// A count with its rate for each unit of exposure.
struct Rate {
  std::uint64_t events = 0;
  double exposure = 0;
  std::optional<Estimate> rate;
};

// A finding that counts as false, for a person.
struct FalseFinding {
  std::string id;
  WallTime raised{};
  std::string what;  // "wrong_culprit", "false_accusation", "false_hang", "false_alarm"
};

struct Score {
  Exposure exposure;
  std::size_t faults = 0;
  std::size_t detected = 0;      // faults with a true detection
  std::size_t repeated = 0;      // further true findings about a fault: not counted
  std::size_t unlocalised = 0;   // findings about the job of a fault that name no culprit: not counted
  std::size_t elsewhere = 0;     // findings that name the faulty node because of another job: not counted
  std::size_t info = 0;          // findings of severity info: not counted
  std::size_t out_of_range = 0;  // findings outside the labelled time: not counted
  std::size_t false_findings = 0;
  std::optional<Estimate> precision, recall, f1;

  Rate false_accusations;  // for 1,000 node-days
  Rate false_hangs;        // for one job-day
  std::size_t wrong_culprits = 0;
  std::size_t blamed_confounders = 0;
  std::map<std::string, std::size_t> confounders;  // blamed ones, by class

  // Of the faults about which a finding names a culprit: how often the first one names the right one.
  std::optional<Estimate> first_is_right;
  // Of the true detections of faults whose label names a GPU or NIC: how often the finding names it as well.
  std::optional<Estimate> part_is_right;
  Delays delays, hang_delays;
  std::vector<ClassScore> classes;  // by class, then magnitude
  std::vector<std::string> missed;  // ids of faults
  std::vector<FalseFinding> wrong;  // the first kMaxWrong
  static constexpr std::size_t kMaxWrong = 1000;
};

// Compares the findings of a run with labels: docs/reference/job-telemetry.md, "How score counts". Pure.
[[nodiscard]] Score score(const Labels& labels, const RunLog& run);

}  // namespace autopilot::jobs
