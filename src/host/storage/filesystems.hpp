// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// One row of mountinfo.
struct Mount {
  std::string mount_point;  // octal escapes undone
  std::string source;
  std::string type;
  std::string device;            // "259:1"
  bool read_only = false;        // of this mount
  bool super_read_only = false;  // of the filesystem itself (the kernel remounted it, or it was mounted so)
  bool is_network = false;       // nfs, nfs4, cifs, lustre, gpfs, ceph, beegfs, weka, fuse.* of those, 9p
};

// statfs of one mount.
struct Usage {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;       // for root
  std::uint64_t available_bytes = 0;  // for everybody
  std::uint64_t total_inodes = 0;     // 0: the filesystem does not count
  std::uint64_t free_inodes = 0;
};

class Filesystems {
 public:
  Filesystems() = default;
  Filesystems(const Filesystems&) = delete;
  Filesystems& operator=(const Filesystems&) = delete;
  virtual ~Filesystems() = default;
  [[nodiscard]] virtual Result<std::vector<Mount>> mounts() const = 0;
  // Network mounts are asked in a helper process. timed_out: the mount hangs. Thread-safe.
  [[nodiscard]] virtual Result<Usage> usage(const Mount& mount, MonoTime deadline) const = 0;
};

// mountinfo text -> rows; malformed names the line.
[[nodiscard]] Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

}  // namespace autopilot::host
