// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/jobs/job_search.hpp"
#include "agent/jobs/node_jobs.hpp"
#include "agent/jobs/node_pods.hpp"
#include "collect/evidence/capture.hpp"
#include "config/config.hpp"
#include "host/host.hpp"
#include "host/process/process_reader.hpp"

namespace autopilot::agent {

// What the search and the sources of job data read.
struct JobsMachine {
  std::shared_ptr<const host::Host> host;
  std::string node;
  std::shared_ptr<const NodePods> pods = {};  // null: the API server is not asked for them
  std::string helper_socket = {};             // jobs.helper_socket
  std::string kubelet_socket = {};            // kubelet.helper_socket
  // Behind that socket; null: none.
  std::shared_ptr<const host::ProcessReader> processes = {};
};

// A simulated machine with the processes and files of this one: jobs run here, also where the devices are
// simulated.
[[nodiscard]] std::shared_ptr<const host::Host> with_processes_of_this_machine(
    std::shared_ptr<const host::Host> simulated);

// Searches jobs by processes, GPUs and containers.
[[nodiscard]] std::unique_ptr<JobSearch> open_job_search(const JobsMachine& machine);

// All sources of job data, in the order in which they are polled. A source that cannot be opened states so in
// its not_seen.
[[nodiscard]] std::vector<JobSource> open_job_sources(const JobsMachine& machine,
                                                      const config::Config& config);

// What is captured when a job is suspected to hang, without telemetry.
[[nodiscard]] collect::EvidenceSources open_evidence_sources(const JobsMachine& machine);

}  // namespace autopilot::agent
