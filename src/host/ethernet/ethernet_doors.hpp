// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/ethernet/ethernet.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// The running machine: state and counters by netlink, what belongs to the hardware (speed, duplex, device)
// from sysfs.
class NetlinkEthernet final : public Ethernet {
 public:
  explicit NetlinkEthernet(const Files& files) : files_(files) {}
  [[nodiscard]] Result<std::vector<EthernetLink>> links(MonoTime deadline) const override;

 private:
  const Files& files_;
};

// A machine tree: sysfs alone.
class SysfsEthernet final : public Ethernet {
 public:
  explicit SysfsEthernet(const Files& files) : files_(files) {}
  [[nodiscard]] Result<std::vector<EthernetLink>> links(MonoTime deadline) const override;

 private:
  const Files& files_;
};

// speed_mbps, duplex, is_physical and pci_address of a link, from /sys/class/net/<name>. A link that is up
// and that neither netlink nor sysfs can place has a problem then.
void add_hardware(const Files& files, EthernetLink& link);

}  // namespace autopilot::host
