// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/clock/time_sync.hpp"
#include "host/files/files.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::host {

// The running machine: adjtimex (reading needs no right) and the clock source of sysfs.
class SystemTimeSync final : public TimeSync {
 public:
  explicit SystemTimeSync(const Files& files) : files_(files) {}
  [[nodiscard]] Result<TimeSyncState> read() const override;

 private:
  const Files& files_;
};

// A machine tree: machine.yaml and the clock source of its root/. unavailable where the tree does not say.
class TreeTimeSyncDoor final : public TimeSync {
 public:
  TreeTimeSyncDoor(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  [[nodiscard]] Result<TimeSyncState> read() const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

}  // namespace autopilot::host
