// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/jobs/node_jobs.hpp"

namespace autopilot::agent {

// The metric families autopilot_job_*, as Prometheus text. No label has the name of a job: what one machine
// reports stays small.
[[nodiscard]] std::string render_jobs_metrics(const JobsSnapshot& snapshot);

}  // namespace autopilot::agent
