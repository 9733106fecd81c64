// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/clock/system_clock.hpp"
#include "host/dns/name_servers.hpp"
#include "host/ethtool/ethtool.hpp"
#include "host/files/files.hpp"
#include "host/machine_tree/machine_tree.hpp"
#include "host/storage/filesystems.hpp"
#include "host/storage/nvme.hpp"

// Backends of a machine tree whose answers are in its machine.yaml.
namespace autopilot::host {

// A machine tree: machine.yaml and the clock source of its root/. unavailable where the tree does not say.
class TreeTimeSyncBackend final : public TimeSync {
 public:
  TreeTimeSyncBackend(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  [[nodiscard]] Result<TimeSyncState> read() const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

// A machine tree: the list of its root/, the answers of its machine.yaml. Nothing is sent.
class TreeNameServers final : public NameServers {
 public:
  TreeNameServers(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  // unavailable: the tree has no entry for a server.
  [[nodiscard]] Result<NameServersSeen> ask(MonoTime deadline) const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

// A machine tree: `ethernet_ports` of its machine.yaml.
class TreeEthtool final : public Ethtool {
 public:
  explicit TreeEthtool(const MachineTreeFile& tree) : tree_(tree) {}
  [[nodiscard]] std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                      MonoTime deadline) const override;

 private:
  const MachineTreeFile& tree_;
};

// The mounts of a machine tree: mountinfo from its root/, usage from its machine.yaml.
class TreeFilesystems final : public Filesystems {
 public:
  TreeFilesystems(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  [[nodiscard]] Result<std::vector<Mount>> mounts() const override;
  // not_found for a mount without an entry in the tree.
  [[nodiscard]] Result<Usage> usage(const Mount& mount, MonoTime deadline) const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

// The NVMe controllers of a machine tree: sysfs from its root/, health from its machine.yaml.
class TreeNvmeDevices final : public NvmeDevices {
 public:
  TreeNvmeDevices(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  [[nodiscard]] Result<std::vector<NvmeController>> controllers() const override;
  // not_found for a controller without an entry in the tree.
  [[nodiscard]] Result<NvmeHealth> health(const std::string& controller, MonoTime deadline) const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

}  // namespace autopilot::host
