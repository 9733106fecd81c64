// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// One network interface as netlink shows it.
struct EthernetLink {
  std::string name;
  std::optional<Error> problem;  // why nobody can say whether it is sound; the rest is not to be used then
  std::string driver_kind;       // "veth", "bridge", "bond", ...; empty for hardware
  bool is_physical = false;      // has a device behind it
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

}  // namespace autopilot::host
