// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collect/discovery/gpu_holders.hpp"
#include "collect/discovery/job_identity.hpp"
#include "collect/discovery/process_tree.hpp"
#include "collect/discovery/rank_layout.hpp"
#include "host/process/process_table.hpp"

// The processes of a node as jobs and ranks, at one moment. Pure.
namespace autopilot::collect {

struct FoundRank {
  std::optional<int> rank;  // nullopt: not stated
  const host::Process* main = nullptr;
  std::vector<int> gpus;               // indexes, ascending
  std::vector<std::int64_t> children;  // pids
  std::string role;
  std::string replica;
  std::string pod;  // name; or empty
};

struct FoundJob {
  JobIdentity identity;
  std::optional<RankSource> source;  // nullopt: the ranks have no numbers
  std::optional<int> world;
  std::vector<FoundRank> ranks;  // ordered by rank; without numbers by GPU, start and pid
};

struct FoundJobs {
  std::vector<FoundJob> jobs;         // ordered by key
  std::vector<std::string> not_seen;  // sentences with the cure
};

// The job of a process in a pod. nullopt: nothing is known of the pod.
using PodIdentity = std::function<std::optional<JobIdentity>(const host::Process& process)>;

// The processes stay where they are as long as the result is used.
[[nodiscard]] FoundJobs group_jobs(const Processes& processes, const GpuHolders& holders,
                                   const PodIdentity& identify_pod, std::string_view node);

}  // namespace autopilot::collect
