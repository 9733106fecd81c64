// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

struct InterfaceAddress {
  std::string interface;
  Address address;
  int prefix = 0;  // bits of it that its neighbours have too; 0: not known
};

// Of all interfaces of this machine, in the kernel's order.
[[nodiscard]] Result<std::vector<InterfaceAddress>> read_interface_addresses();

// The address that the kernel would take on the way to another; nothing is sent. unavailable: there is no
// way.
[[nodiscard]] Result<Address> read_source_towards(const Address& target);

// The interface that has an address. Nothing: none of this machine has.
[[nodiscard]] std::optional<std::string> interface_of(std::span<const InterfaceAddress> known,
                                                      const Address& address);

// Whether another address is in the neighbourhood of one of these.
[[nodiscard]] bool is_neighbour(const InterfaceAddress& own, const Address& other);

// The first address of an interface from which `target` can be reached: of its family, and link-local only
// where the target is.
[[nodiscard]] std::optional<Address> address_on(std::span<const InterfaceAddress> known,
                                                const std::string& interface, const Address& target);

}  // namespace autopilot::probes::net
