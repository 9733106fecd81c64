// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/files/files.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "host/storage/nvme.hpp"

namespace autopilot::host {

// The NVMe controllers of a machine tree: sysfs from its root/, health from its machine.yaml.
class TreeNvmeDevices final : public NvmeDevices {
 public:
  TreeNvmeDevices(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  [[nodiscard]] Result<std::vector<NvmeController>> controllers() const override;
  // not_found for a controller of which the tree says nothing.
  [[nodiscard]] Result<NvmeHealth> health(const std::string& controller, MonoTime deadline) const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

}  // namespace autopilot::host
