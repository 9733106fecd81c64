// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/files/files.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::host {

// The mounts that this process sees. Local ones answer statfs from memory and are asked directly.
class SystemFilesystems final : public Filesystems {
 public:
  explicit SystemFilesystems(const Files& files) : files_(files) {}
  [[nodiscard]] Result<std::vector<Mount>> mounts() const override;
  [[nodiscard]] Result<Usage> usage(const Mount& mount, MonoTime deadline) const override;

 private:
  const Files& files_;
};

// statfs of one mount point. Blocks as long as the filesystem does.
[[nodiscard]] Result<Usage> read_usage(const std::string& mount_point);

}  // namespace autopilot::host
