// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/labels.hpp"
#include "jobs/scoring/run_log.hpp"
#include "jobs/scoring/score.hpp"

namespace autopilot::jobs::bench {

// One labelled fault of one run.
struct FaultRow {
  std::string fault_class;
  std::string magnitude;  // as in ClassScore
  Effect effect = Effect::none;
  // What shows the progress of its job: "ras", "serving", "other".
  std::string source;
  bool is_detected = false;
  bool is_noticed = false;             // a finding above severity info about its job, whatever its culprit
  std::optional<double> delay_s;       // as in Delays
  std::optional<bool> first_is_right;  // not set: no finding names a culprit
  // From the last step, or the onset if the job shows no steps, to the first finding that says that the job
  // hangs, whatever its culprit.
  std::optional<double> confirmed_s;
};

// The scores of all runs of one method.
struct Tally {
  std::size_t faults = 0, detected = 0, false_findings = 0, wrong_culprits = 0, blamed_confounders = 0;
  std::size_t unlocalised = 0;
  std::uint64_t false_accusations = 0, false_hangs = 0;
  double node_days = 0, job_days = 0;
  double cpu_s = 0;  // of the method alone
  std::vector<FaultRow> rows;
  struct Run {
    std::size_t faults = 0, detected = 0, false_findings = 0;
  };
  std::vector<Run> each_run;

  void add(const Score& score);
};

// `has_ras`: jobs whose collectives are counted; `serves`: jobs of inference.
struct Sources {
  std::vector<std::string> has_ras, serves;
};

// Each fault by itself. The faults of a drawn scenario do not overlap, so this counts what score() counts.
[[nodiscard]] std::vector<FaultRow> rows_of(const Labels& labels, const RunLog& run, const Sources& sources);

}  // namespace autopilot::jobs::bench
