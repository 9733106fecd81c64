// SPDX-License-Identifier: Apache-2.0
#include "host/storage/tree_filesystems.hpp"

namespace autopilot::host {

Result<std::vector<Mount>> TreeFilesystems::mounts() const {
  const std::string text = TRY(files_.read("/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

Result<Usage> TreeFilesystems::usage(const Mount& mount, MonoTime) const {
  const auto tree = TRY(tree_.read());
  const auto found = tree->filesystems.find(mount.mount_point);
  if (found == tree->filesystems.end())
    return fail(Errc::not_found, mount.mount_point + ": no usage in the machine tree");
  const TreeUsage& answer = found->second;
  if (answer.hangs) return fail(Errc::timed_out, mount.mount_point + ": no answer within the deadline");
  if (answer.error) return fail(*answer.error, mount.mount_point + ": the machine tree says so");
  return answer.usage;
}

}  // namespace autopilot::host
