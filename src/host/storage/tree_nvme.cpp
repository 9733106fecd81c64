// SPDX-License-Identifier: Apache-2.0
#include "host/storage/tree_nvme.hpp"

#include "host/storage/nvme_sysfs.hpp"

namespace autopilot::host {

Result<std::vector<NvmeController>> TreeNvmeDevices::controllers() const {
  return read_nvme_controllers(files_);
}

Result<NvmeHealth> TreeNvmeDevices::health(const std::string& controller, MonoTime) const {
  const auto tree = TRY(tree_.read());
  const auto found = tree->nvme.find(controller);
  if (found == tree->nvme.end())
    return fail(Errc::not_found, controller + ": no health log page in the machine tree");
  if (const auto& error = found->second.error) return fail(*error, controller + ": the machine tree says so");
  return found->second.health;
}

}  // namespace autopilot::host
