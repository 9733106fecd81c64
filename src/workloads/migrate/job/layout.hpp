// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

// A node of the cluster; missing values are unknown.
struct NodeShape {
  std::optional<int> cpus;
  std::optional<int> gpus;
  std::optional<std::int64_t> memory_bytes;
};

// What the launcher of the script starts, where directives leave it open.
struct LaunchDemand {
  std::optional<int> ranks;
  std::optional<int> ranks_per_host;
  std::optional<int> hosts;
  std::optional<int> gpus_per_rank;
  std::optional<int> cpus_per_rank;
};

// The resources of the pods of one part; all counts are at least 1, except GPUs. A pod is a host of the job.
struct Layout {
  int hosts = 1;
  int tasks = 1;  // of all hosts
  int tasks_per_host = 1;
  int cpus_per_task = 1;
  int cpus = 1;                         // of each host
  int gpus = 0;                         // of each host
  std::int64_t memory_bytes = 0;        // of each host; 0: no request
  std::int64_t memory_limit_bytes = 0;  // of each host, at least memory_bytes; 0: no limit
  bool is_exclusive = false;
};

// Findings: what LSF or Slurm would refuse, and what depends on the size of nodes that is not known.
[[nodiscard]] Layout layout_of(const JobPart& part, Scheduler scheduler, const NodeShape& node,
                               const LaunchDemand& demand, Findings& findings);

}  // namespace autopilot::workloads::migrate
