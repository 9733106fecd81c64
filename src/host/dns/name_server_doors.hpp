// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/dns/name_servers.hpp"
#include "host/files/files.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::host {

// The running machine: sends each server one question of 17 bytes, and two more where it is slow. No right is
// needed.
class SystemNameServers final : public NameServers {
 public:
  explicit SystemNameServers(const Files& files) : files_(files) {}
  [[nodiscard]] Result<NameServersSeen> ask(MonoTime deadline) const override;

 private:
  const Files& files_;
};

// A machine tree: the list of its root/, the answers of its machine.yaml. Nothing is sent.
class TreeNameServers final : public NameServers {
 public:
  TreeNameServers(const Files& files, const MachineTreeFile& tree) : files_(files), tree_(tree) {}
  // unavailable: the tree says nothing of a server.
  [[nodiscard]] Result<NameServersSeen> ask(MonoTime deadline) const override;

 private:
  const Files& files_;
  const MachineTreeFile& tree_;
};

}  // namespace autopilot::host
