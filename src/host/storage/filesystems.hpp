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
  std::string device;      // "259:1"
  std::string root = "/";  // what of the filesystem is mounted here; not "/" for bind mounts and subvolumes
  bool read_only = false;  // of this mount
  bool super_read_only = false;   // of the filesystem itself (the kernel remounted it, or it was mounted so)
  bool stopped_by_error = false;  // the kernel says that it takes no more writes: emergency_ro, shutdown
  bool is_network = false;        // nfs, nfs4, cifs, lustre, gpfs, ceph, beegfs, weka, fuse.* of those, 9p
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
  // Mounts that may hang are asked in a helper process. timed_out: the mount hangs; unavailable: the
  // filesystem itself refuses (EIO, ESTALE, ENOTCONN); exhausted: no helper is left to ask; internal: the
  // helper failed. Thread-safe.
  [[nodiscard]] virtual Result<Usage> usage(const Mount& mount, MonoTime deadline) const = 0;
};

// True where statfs asks somebody who may not answer: a network mount or a FUSE daemon.
[[nodiscard]] bool may_hang(const Mount& mount);

// mountinfo text -> rows; malformed names the line.
[[nodiscard]] Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

}  // namespace autopilot::host
