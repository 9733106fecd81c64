// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

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
  bool stopped_by_error = false;  // the kernel reports that it takes no more writes: emergency_ro, shutdown
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

// True where statfs waits for a program that may not answer: a network mount or a FUSE daemon.
[[nodiscard]] bool may_hang(const Mount& mount);

// mountinfo text -> rows; malformed names the line.
[[nodiscard]] Result<std::vector<Mount>> parse_mountinfo(std::string_view text);

// One NFS mount and what its transports have counted since it was mounted. Mounts of one server and version
// share their transports, and their counters.
struct NfsMount {
  std::string mount_point;
  std::string server;            // as it was mounted: the name in the kernel's messages
  std::string version;           // "100003/4": program and version
  std::uint64_t sends = 0;       // requests sent, repetitions too
  std::uint64_t receives = 0;    // replies
  std::uint64_t timeouts = 0;    // requests that passed their last timeout before they ended
  std::string exported;          // "server:/export"; mounts of one share the counts of bytes
  std::uint64_t read_bytes = 0;  // from the server; 0 where the kernel does not count
  std::uint64_t written_bytes = 0;
};

// /proc/self/mountstats: the kernel answers from memory, no server is asked. Empty: nothing is mounted by
// NFS. malformed: names the mount whose counters cannot be understood.
[[nodiscard]] Result<std::vector<NfsMount>> read_nfs_mounts(const Files& files);
// The text of that file.
[[nodiscard]] Result<std::vector<NfsMount>> parse_mountstats(std::string_view text);

// What a mounted ext4 filesystem remembers of its errors. It is stored in the filesystem itself: it survives
// reboots and goes away when fsck repaired it.
struct Ext4Errors {
  std::string device;            // "sda1", "dm-0"
  std::string device_number;     // "8:1": what mountinfo names it by; empty: unknown
  std::optional<Error> problem;  // why the count cannot be read
  std::uint64_t count = 0;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
  std::string last_function;  // of the kernel, "ext4_find_entry"; empty: unknown
};

// Every mounted ext4 filesystem, by device. Empty: there is none. unavailable: there is no sysfs to ask.
// A filesystem that cannot be read or understood is listed with its problem and hides no other.
[[nodiscard]] Result<std::vector<Ext4Errors>> scan_ext4_errors(const Files& files);

}  // namespace autopilot::host
