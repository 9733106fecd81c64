// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/observation.hpp"
#include "core/workload.hpp"

namespace autopilot::incidents {

// Who used which GPU, or held it, and when: what looks at the GPUs saw, kept for a while after the process or
// the pod is gone. Pure; one owner.
class GpuUsers {
 public:
  static constexpr std::size_t kMaxPerGpu = 64;
  // A look sees only who is there at its moment: a process may have begun, or ended, this much outside of
  // what was seen.
  static constexpr Duration kBetweenLooks = std::chrono::minutes{2};
  static constexpr Duration kKept = std::chrono::hours{1};

  // Those among the observations that tell of one; false when there is none.
  bool note(const Observations& observations);
  // Of this GPU and of its parts in that time, those seen first before others. Of a part: of it, and those
  // that nobody can place within the GPU. Those that were seen at the host hold some GPU of it: it may be
  // this one where there was only one of them.
  [[nodiscard]] std::vector<Workload> of(const Subject& gpu, WallTime from, WallTime to) const;
  // Of all GPUs. No candidates: whoever holds any is among them.
  [[nodiscard]] std::vector<Workload> of_any(WallTime from, WallTime to) const;

 private:
  void note(const Subject& gpu, Workload workload);

  std::map<Subject, std::vector<Workload>> by_gpu_;
};

}  // namespace autopilot::incidents
