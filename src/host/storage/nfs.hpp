// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// One NFS mount and what its transports have counted since it was mounted. Mounts of one server and version
// share their transports, and their counters.
struct NfsMount {
  std::string mount_point;
  std::string server;          // as it was mounted: the name in the kernel's messages
  std::string version;         // "100003/4": program and version
  std::uint64_t sends = 0;     // requests sent, repetitions too
  std::uint64_t receives = 0;  // replies
  std::uint64_t timeouts = 0;  // requests that passed their last timeout before they ended
};

// /proc/self/mountstats: the kernel answers from memory, no server is asked. Empty: nothing is mounted by
// NFS. malformed: names the mount whose counters cannot be understood.
[[nodiscard]] Result<std::vector<NfsMount>> read_nfs_mounts(const Files& files);
// The text of that file.
[[nodiscard]] Result<std::vector<NfsMount>> parse_mountstats(std::string_view text);

}  // namespace autopilot::host
