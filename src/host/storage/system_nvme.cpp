// SPDX-License-Identifier: Apache-2.0
#include "host/storage/system_nvme.hpp"

#include "host/storage/nvme_sysfs.hpp"
#include "host/storage/storage_helper.hpp"

namespace autopilot::host {

Result<std::vector<NvmeController>> SystemNvmeDevices::controllers() const {
  return read_nvme_controllers(files_);
}

Result<NvmeHealth> SystemNvmeDevices::health(const std::string& controller, MonoTime deadline) const {
  auto answer = ask_nvme_health(helper_, controller, deadline);
  if (!answer) return fail(error_of_subject(std::move(answer).error()));
  return *answer;
}

}  // namespace autopilot::host
