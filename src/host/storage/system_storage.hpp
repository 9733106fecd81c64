// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/storage/filesystems.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

// `autopilot helper storage`: what may hang in a mount or a device. Returns the exit code of the process.
[[nodiscard]] int run_storage_helper(int fd);

// Asks it for the usage of a mount. `client` is of kind "storage".
[[nodiscard]] tl::expected<Usage, HelperError> ask_usage(HelperClient& client, const std::string& mount_point,
                                                         MonoTime deadline);

// The mounts that this process sees. Local ones answer statfs from memory and are asked directly, the others
// in the helper of kind "storage". A mount that hung is not asked again before its helper could be killed and
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

// The NVMe controllers of the running machine: sysfs, and SMART values through the helper of kind "storage".
class SystemNvmeDevices final : public NvmeDevices {
 public:
  SystemNvmeDevices(const Files& files, HelperClient& storage_helper)
      : files_(files), helper_(storage_helper) {}
  [[nodiscard]] Result<std::vector<NvmeController>> controllers() const override;
  [[nodiscard]] Result<NvmeHealth> health(const std::string& controller, MonoTime deadline) const override;

 private:
  const Files& files_;
  HelperClient& helper_;
};

}  // namespace autopilot::host
