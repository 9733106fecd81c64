// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// One network interface as netlink shows it.
struct EthernetLink {
  std::string name;
  std::optional<Error> problem;      // why its health is unknown; do not use the rest then
  std::string driver_kind;           // "veth", "bridge", "bond", ...; empty for hardware
  bool is_physical = false;          // has a device behind it
  bool is_virtual_function = false;  // a part of an adapter; the port belongs to its physical function
  bool is_infiniband = false;        // IP over InfiniBand
  bool is_up = false;                // the administrator wants it up
  bool has_carrier = false;
  std::string operational_state;  // "up", "down", "dormant", "unknown", ...
  std::optional<int> speed_mbps;  // nothing where the driver does not say
  std::string duplex;
  int mtu = 0;
  std::uint64_t carrier_changes = 0;
  std::uint64_t rx_errors = 0;
  std::uint64_t tx_errors = 0;
  std::uint64_t rx_dropped = 0;
  std::uint64_t tx_dropped = 0;
  std::uint64_t rx_crc_errors = 0;
  std::string bond_master;  // empty: none
  std::string pci_address;  // empty: none

  // Hardware of its own, with something to plug in.
  [[nodiscard]] bool is_port() const {
    return is_physical && !is_infiniband && !is_virtual_function && !problem;
  }
};

class Ethernet {
 public:
  Ethernet() = default;
  Ethernet(const Ethernet&) = delete;
  Ethernet& operator=(const Ethernet&) = delete;
  virtual ~Ethernet() = default;
  // Every interface but loopback. Thread-safe.
  [[nodiscard]] virtual Result<std::vector<EthernetLink>> links(MonoTime deadline) const = 0;
};

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

struct BondMember {
  std::string name;
  std::string link;               // "up", "down", "going down", "going back": as the bond sees it
  std::optional<int> aggregator;  // of LACP: members with the same number carry traffic together
};

// One bond of the kernel's bonding driver.
struct Bond {
  std::string name;
  std::optional<Error> problem;  // why it cannot be understood; the rest is empty then
  bool is_up = false;            // the administrator wants it up
  std::string mode;              // "802.3ad", "active-backup", ...
  std::vector<BondMember> members;
  std::optional<int> aggregator;      // of LACP: the aggregator that carries traffic
  std::optional<bool> has_partner{};  // of LACP: the switch answers
};

// Every bond, by name. Empty: there is none. unavailable: there is no sysfs to ask. A bond that cannot be
// read or understood is listed with its problem and hides no other.
[[nodiscard]] Result<std::vector<Bond>> scan_bonds(const Files& files);

}  // namespace autopilot::host
