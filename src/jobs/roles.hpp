// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "jobs/records.hpp"

// Which ranks of a job do equal work. Only those are compared: a stage with more work is not a straggler.
namespace autopilot::jobs {

// Where roles come from, worst first. With `none` or `clustered` a difference of load between ranks can be
// the program's own: only states of the machine (clock, throttling, width, errors) accuse a node.
enum class RoleSource : std::uint8_t {
  none,           // nothing is known: all ranks are peers
  clustered,      // by what the GPUs do
  communicators,  // by membership of communicators
  declared,       // by the job, or by the position in a replica
};
[[nodiscard]] std::string_view to_string(RoleSource source);

struct Roles {
  static constexpr int kNoPeers = -1;
  std::vector<int> role;  // for each of JobRecord::ranks, 0 to count - 1, in order of appearance; or kNoPeers
  int count = 0;
  RoleSource source = RoleSource::none;
};

// Medians of one rank over 10 minutes; NaN: unknown.
struct RankLoad {
  float tensor = kMissing, mem_bytes = kMissing, nvlink_bytes_s = kMissing;
};

// Roles from what the job declares: a role for each rank; for inference the position of a rank in its replica
// (by rank number), if at least 4 replicas have it, together with the role if there is one. count 0: not
// declared.
[[nodiscard]] Roles declared_roles(const JobRecord& job);

// Ranks whose communicators have equal sizes and similar counts (within 5 % or 16). count 0: a rank with a
// GPU is in no communicator, or the job has equal communicators of its parts, which may be stages.
[[nodiscard]] Roles roles_from_communicators(const JobRecord& job, const CollectivesRecord& collectives);

// Clusters of ranks by load: single linkage, up to 4096 ranks exactly, above with grid cells. A cluster of
// fewer than 4 joins the nearest. A load is used if at least half of the ranks with a GPU have it; a rank
// without it has no peers. Compute it while the job is healthy, and again when ranks change: a fault of a
// whole node can pass for a role. count 0: no load is known, or too few ranks are alike. `loads` is as long
// as job.ranks.
[[nodiscard]] Roles clustered_roles(const JobRecord& job, std::span<const RankLoad> loads);

// The best of these; without any, all ranks with a GPU are peers (source none). `collectives` may be null,
// `loads` may be empty. Ranks without a GPU have no peers, unless roles are declared.
[[nodiscard]] Roles find_roles(const JobRecord& job, const CollectivesRecord* collectives,
                               std::span<const RankLoad> loads);

}  // namespace autopilot::jobs
