// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/ethtool/ethtool.hpp"
#include "host/machine_tree/machine_tree.hpp"

namespace autopilot::host {

// A machine tree: `ethernet_ports` of its machine.yaml.
class TreeEthtool final : public Ethtool {
 public:
  explicit TreeEthtool(const MachineTreeFile& tree) : tree_(tree) {}
  [[nodiscard]] std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                      MonoTime deadline) const override;

 private:
  const MachineTreeFile& tree_;
};

}  // namespace autopilot::host
