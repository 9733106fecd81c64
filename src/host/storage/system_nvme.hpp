// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/files/files.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

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
