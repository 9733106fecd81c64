// SPDX-License-Identifier: Apache-2.0
#include "host/storage/system_filesystems.hpp"

#include <cerrno>
#include <sys/statvfs.h>

namespace autopilot::host {

Result<Usage> read_usage(const std::string& mount_point) {
  struct statvfs status {};
  while (::statvfs(mount_point.c_str(), &status) != 0)
    if (errno != EINTR) return fail_errno(errno, "statfs " + mount_point);
  const std::uint64_t block = status.f_frsize;
  return Usage{.total_bytes = status.f_blocks * block,
               .free_bytes = status.f_bfree * block,
               .available_bytes = status.f_bavail * block,
               .total_inodes = status.f_files,
               .free_inodes = status.f_ffree};
}

Result<std::vector<Mount>> SystemFilesystems::mounts() const {
  const std::string text = TRY(files_.read("/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

Result<Usage> SystemFilesystems::usage(const Mount& mount, MonoTime) const {
  if (may_hang(mount))
    return fail(Errc::unavailable,
                mount.mount_point + ": " + mount.type + " may hang and is not asked directly");
  return read_usage(mount.mount_point);
}

}  // namespace autopilot::host
