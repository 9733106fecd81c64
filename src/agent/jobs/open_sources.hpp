// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/jobs/job_search.hpp"
#include "agent/jobs/node_jobs.hpp"
#include "config/config.hpp"
#include "host/host.hpp"

namespace autopilot::agent {

// What the search and the sources of job data read.
struct JobsMachine {
  std::shared_ptr<const host::Host> host;
  // Processes and their files: of this machine, also where `host` is simulated.
  std::shared_ptr<const host::Files> processes;
  std::string node;
};

// Searches jobs by processes, GPUs and containers.
[[nodiscard]] std::unique_ptr<JobSearch> open_job_search(const JobsMachine& machine);

// All sources of job data, in the order in which they are polled. One that cannot be opened states so in its
// not_seen.
[[nodiscard]] std::vector<JobSource> open_job_sources(const JobsMachine& machine,
                                                      const config::Config& config);

}  // namespace autopilot::agent
