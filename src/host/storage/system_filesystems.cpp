// SPDX-License-Identifier: Apache-2.0
#include "host/storage/system_filesystems.hpp"

#include <cerrno>
#include <sys/statvfs.h>

#include "host/process/poll.hpp"
#include "host/storage/storage_helper.hpp"

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

Result<Usage> SystemFilesystems::usage(const Mount& mount, MonoTime deadline) const {
  if (!may_hang(mount)) return read_usage(mount.mount_point);
  if (still_hangs(mount.mount_point))
    return fail(Errc::timed_out, mount.mount_point + ": did not answer when last asked");
  auto answer = ask_usage(helper_, mount.mount_point, deadline);
  if (answer) return *answer;
  if (answer.error().failure == HelperFailure::timed_out) remember(mount.mount_point, answer.error());
  return fail(error_of_subject(std::move(answer).error()));
}

bool SystemFilesystems::still_hangs(const std::string& mount_point) const {
  const std::lock_guard lock(mutex_);
  const auto found = hangs_.find(mount_point);
  if (found == hangs_.end()) return false;
  if (helper_.is_stuck(found->second.helper) || mono_now() < found->second.ask_again) return true;
  hangs_.erase(found);
  return false;
}

void SystemFilesystems::remember(const std::string& mount_point, const HelperError& error) const {
  const std::lock_guard lock(mutex_);
  hangs_[mount_point] = {.helper = error.stuck_pid, .ask_again = mono_now() + kAskAgain};
}

}  // namespace autopilot::host
