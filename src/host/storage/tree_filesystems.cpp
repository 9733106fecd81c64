// SPDX-License-Identifier: Apache-2.0
#include "host/storage/tree_filesystems.hpp"

namespace autopilot::host {

Result<std::vector<Mount>> TreeFilesystems::mounts() const {
  const std::string text = TRY(files_.read("/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

Result<Usage> TreeFilesystems::usage(const Mount& mount, MonoTime) const {
  const auto found = usage_.find(mount.mount_point);
  if (found == usage_.end())
    return fail(Errc::not_found, mount.mount_point + ": no usage in the machine tree");
  if (found->second.hangs)
    return fail(Errc::timed_out, mount.mount_point + ": no answer within the deadline");
  return found->second.usage;
}

}  // namespace autopilot::host
