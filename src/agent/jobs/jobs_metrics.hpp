// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "agent/job_uplink.hpp"
#include "agent/jobs/node_jobs.hpp"

namespace autopilot::agent {

// The metric families autopilot_job_*, as Prometheus text. No label has the name of a job: what one machine
// reports stays small.
[[nodiscard]] std::string render_jobs_metrics(const JobsSnapshot& snapshot);

// The families autopilot_job_uplink_*: what is sent to the controller or the coordinator.
[[nodiscard]] std::string render_uplink_metrics(const JobUplink::Stats& stats);

}  // namespace autopilot::agent
