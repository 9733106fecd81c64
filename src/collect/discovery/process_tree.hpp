// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "host/process/process_table.hpp"

namespace autopilot::collect {

using Processes = std::map<std::int64_t, host::Process>;

// Which process started which. Pure; the processes outlive it.
class ProcessTree {
 public:
  static constexpr int kDepth = 64;  // a deeper tree is cut

  explicit ProcessTree(const Processes& processes);

  // The first ancestor for which `is_wanted` is true; nullptr: none.
  template <class IsWanted>
  [[nodiscard]] const host::Process* ancestor(const host::Process& process, IsWanted is_wanted) const {
    const host::Process* at = parent(process);
    for (int depth = 0; at != nullptr && depth < kDepth; ++depth, at = parent(*at))
      if (is_wanted(*at)) return at;
    return nullptr;
  }
  // The outermost ancestor below a shell, a session or a container runtime; the process itself if there is
  // none.
  [[nodiscard]] const host::Process& root(const host::Process& process) const;
  // All below a process without those in `others` and below them, breadth first, at most `limit`.
  [[nodiscard]] std::vector<std::int64_t> below(std::int64_t pid, const std::set<std::int64_t>& others,
                                                std::size_t limit) const;

 private:
  [[nodiscard]] const host::Process* parent(const host::Process& process) const;

  const Processes& processes_;
  std::multimap<std::int64_t, std::int64_t> children_;
};

// A shell, a session, an init or a container runtime, by name: it starts programs and is none of a job's.
[[nodiscard]] bool is_wrapper_name(std::string_view name);
// A service of the machine that is on GPUs for all programs: a display server, the daemon of MPS.
[[nodiscard]] bool is_gpu_service_name(std::string_view name);

}  // namespace autopilot::collect
