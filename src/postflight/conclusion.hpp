// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/check_result.hpp"
#include "core/subject.hpp"
#include "learning/validation_result.hpp"
#include "postflight/ended_job.hpp"
#include "postflight/pair_run.hpp"
#include "postflight/plan.hpp"

// What follows from the checks and diagnostics after a job. Pure.
namespace autopilot::postflight {

// A diagnostic without a result: it could not run, or its deadline passed.
struct MissingResult {
  std::string check;
  std::string why;  // one sentence
};

struct ConclusionInput {
  std::string node;
  EndedJob job;
  JobFacts facts;
  Plan plan;
  int tries = 1;
  WallTime start{}, end{};            // of the validation
  std::vector<Subject> gpus;          // that the job held
  CheckResults before;                // before the job; empty: not known
  std::vector<CheckResult> passive;   // runs after the job
  std::vector<CheckResult> measured;  // results of diagnostics after the job
  std::vector<MissingResult> missing;
  std::optional<PairRun> pair;  // the test between nodes that this node started
  std::string stopped;          // why diagnostics yielded or ended early, in a sentence; empty: they did not
};

// The verdict is `failed` if a check is failed, a diagnostic of these GPUs is degraded, a test between nodes
// accuses this one, or a check is not as good as before the job. It is `unknown` if diagnostics ended early
// or have no result, if a required check or a check that had a result before the job has none now, or if no
// check ran. Otherwise it is `passed`.
[[nodiscard]] learning::ValidationResult conclude(const ConclusionInput& input);

// Of a job whose validation did not happen: `why` is one sentence.
[[nodiscard]] learning::ValidationResult not_validated(const std::string& node, const EndedJob& job,
                                                       const std::string& why, WallTime now);

// The job on this node, for history.
[[nodiscard]] learning::NodeJob node_job_of(const std::string& node, const EndedJob& job,
                                            const JobFacts& facts, std::span<const Subject> gpus);

}  // namespace autopilot::postflight
