// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/nccl_ras/ras_answer.hpp"
#include "jobs/records.hpp"

// Which ranks of a job the ranks of NCCL's communicators are. Pure.
namespace autopilot::collect {

struct LocalRank {
  int rank = 0;                // of the job
  std::int64_t inner_pid = 0;  // as the process itself sees it; 0: unknown
  std::vector<int> gpus;       // indexes on the node
};

// What the node knows of the job whose processes answer.
struct JobPlaces {
  std::vector<LocalRank> local;
  std::optional<int> world;      // ranks of the whole job
  bool has_local_ranks = false;  // the ranks are numbers of this node only
  bool is_shared = false;        // other jobs have processes in the same network namespace
};

struct MappedAnswer {
  // False: the answer is of another job that shares the port, or nothing shows whose it is.
  bool is_of_job = false;
  std::vector<jobs::Communicator> communicators;
  std::size_t unmapped = 0;  // communicators left out, because the rank of a member is unknown
};

// A communicator that spans the job has the ranks of the job in their order, unless the processes of this
// node contradict; its places (host, pid, device) then name the members of all others. Without one, the
// processes of this node name them. A communicator with a member that has no name, or that is being closed,
// is left out: the counts of some members only would accuse wrongly.
[[nodiscard]] MappedAnswer map_answer(const host::RasAnswer& answer, const JobPlaces& job);

}  // namespace autopilot::collect
