// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_user.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// A control group in which processes were killed for lack of memory.
struct KilledGroup {
  std::string path;         // "/kubepods.slice/..."
  std::uint64_t kills = 0;  // in this group and groups below it that no longer exist, since it was created
  std::optional<std::uint64_t> limit_bytes;  // not set: no limit, or not readable
  GpuUserOwner owner;                        // by its path
};

struct KilledGroups {
  static constexpr std::size_t kMostRead = 4096;

  std::vector<KilledGroup> groups;  // most kills first
  std::size_t read = 0;
  std::size_t left_out = 0;  // not read, beyond the limit
};

// Reads at most `most` groups, of both versions; readable for every user. unsupported: this machine has no
// memory groups.
[[nodiscard]] Result<KilledGroups> read_killed_groups(const Files& files,
                                                      std::size_t most = KilledGroups::kMostRead);

// A control group whose limit of processes and threads was reached.
struct RefusingGroup {
  std::string path;
  std::uint64_t refused = 0;           // processes and threads, since the group was created
  std::optional<std::uint64_t> limit;  // not set: no limit, or not readable
  GpuUserOwner owner;                  // by its path
};
using RefusingGroups = std::vector<RefusingGroup>;

// By pids.events of both versions, most first; reads at most `most` groups. Empty: no group refused any, or
// this machine has no such groups.
[[nodiscard]] RefusingGroups read_refusing_groups(const Files& files,
                                                  std::size_t most = KilledGroups::kMostRead);

// `oom_kill` of memory.events (version 2) or memory.oom_control (version 1). malformed: the row is missing,
// as before Linux 4.13, or is not a number.
[[nodiscard]] Result<std::uint64_t> parse_group_kills(std::string_view text);

}  // namespace autopilot::host
