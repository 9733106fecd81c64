// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/gpu_user.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"

namespace autopilot::incidents {

// Processes and pods that used or held each GPU, with times, from observations. Remembers them for kKept
// after they end. Pure; one owner.
class GpuUsers {
 public:
  static constexpr std::size_t kMaxPerGpu = 64;
  // Runs sample the users: a process may have started or ended this long outside of its observed time.
  static constexpr Duration kBetweenLooks = std::chrono::minutes{2};
  static constexpr Duration kKept = std::chrono::hours{1};

  // Records the GPU users among the observations; false without any.
  bool note(const Observations& observations);
  // GPU users of this GPU and its parts in that time, ordered by first sighting. For a part: its GPU users,
  // and those of the GPU whose part is not known. A GPU user observed at the host holds an unknown GPU:
  // included if it is the only one.
  [[nodiscard]] std::vector<GpuUser> of(const Subject& gpu, WallTime from, WallTime to) const;
  // GPU users of all GPUs, without candidates, because every holder is included.
  [[nodiscard]] std::vector<GpuUser> of_any(WallTime from, WallTime to) const;

 private:
  void note(const Subject& gpu, GpuUser gpu_user);

  std::map<Subject, std::vector<GpuUser>> by_gpu_;
};

// Adds the affected GPU users to the incident: the GPU users that used or held the GPU of a member while the
// member lasted, or any GPU if the member concerns all of them; for a fault of a program, the program in its
// log line. A pod with a known process is not listed separately. True if the list changed. An injected
// incident affects no GPU user.
bool add_gpu_users(Incident& incident, const GpuUsers& users);
// The same for a record that only repeats a member.
bool add_gpu_users(Incident& incident, const IncidentMember& member, const GpuUsers& users);

}  // namespace autopilot::incidents
