// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/records.hpp"

// The jobs of one node, as the node itself sees them.
namespace autopilot::collect {

// The main process of a rank, and child processes that count as its own, such as data loaders.
struct RankProcess {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;  // since boot; with the pid it means one process only
  int rank = 0;                     // as in the record of the job
  std::vector<int> gpus;            // indexes
  std::vector<std::int64_t> children;
  std::uint64_t network_namespace = 0;  // inode; 0: unknown
  std::string pod_uid;                  // empty: not in a pod
  std::int64_t inner_pid = 0;           // in its own PID namespace, as the job itself sees it; 0: unknown
};

struct JobPod {
  std::string uid;
  std::string name_space;
  std::string name;
  std::string container;                                     // name of the container with the ranks
  std::map<std::string, std::string, std::less<>> settings;  // annotations "autopilot.ibm.com/..." only
};

struct SeenJob {
  jobs::JobRecord record;              // only ranks on this node
  std::vector<RankProcess> processes;  // ordered by rank
  std::vector<JobPod> pods;
  std::optional<int> world;  // ranks of the whole job, where the launcher states it
};

struct SeenJobs {
  WallTime time{};
  std::vector<SeenJob> jobs;          // ordered by name
  std::vector<std::string> not_seen;  // sources that could not be read, each a sentence with the cure
};

}  // namespace autopilot::collect
