// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "jobs/findings.hpp"
#include "jobs/scoring/score.hpp"

namespace autopilot::cli {

// A finding as the engine reported it at `now`: a line with time, severity (or "resolved"), effect and job,
// and below it culprit, probability, the sentence, and what the decision is based on.
[[nodiscard]] std::string render_job_finding(const jobs::JobFinding& finding, WallTime now,
                                             const TableStyle& style);
// Table of jobs; empty without jobs.
[[nodiscard]] std::string render_jobs(const std::vector<jobs::JobState>& jobs, const TableStyle& style);

// Tables of a score.
[[nodiscard]] std::string render_score(const jobs::Score& score, const TableStyle& style);
// The score as one JSON object.
[[nodiscard]] std::string score_json(const jobs::Score& score, bool is_simulated);

}  // namespace autopilot::cli
