// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "host/files/files.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::host {

// The mounts that this process sees. Local ones answer statfs from memory and are asked directly, the others
// in the helper of kind "storage". One that hung is not asked again before its helper could be killed and
// some time has passed, so that a dead server costs neither all helpers nor the whole time of a round.
class SystemFilesystems final : public Filesystems {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds{45};

  SystemFilesystems(const Files& files, HelperClient& storage_helper)
      : files_(files), helper_(storage_helper) {}
  [[nodiscard]] Result<std::vector<Mount>> mounts() const override;
  [[nodiscard]] Result<Usage> usage(const Mount& mount, MonoTime deadline) const override;

 private:
  struct Hang {
    pid_t helper = -1;
    MonoTime ask_again{};
  };
  [[nodiscard]] bool still_hangs(const std::string& mount_point) const;
  void remember(const std::string& mount_point, const HelperError& error) const;

  const Files& files_;
  HelperClient& helper_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Hang, std::less<>> hangs_;
};

// statfs of one mount point. Blocks as long as the filesystem does.
[[nodiscard]] Result<Usage> read_usage(const std::string& mount_point);

}  // namespace autopilot::host
