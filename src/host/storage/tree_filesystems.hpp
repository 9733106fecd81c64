// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/files/files.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::host {

// The mounts of a machine tree: mountinfo from its root/, usage from its machine.yaml.
class TreeFilesystems final : public Filesystems {
 public:
  TreeFilesystems(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  [[nodiscard]] Result<std::vector<Mount>> mounts() const override;
  // not_found for a mount of which the tree says nothing.
  [[nodiscard]] Result<Usage> usage(const Mount& mount, MonoTime deadline) const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

}  // namespace autopilot::host
