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
  int prefix = 0;  // prefix length; 0: unknown
};

// Addresses of all interfaces, in the kernel's order.
[[nodiscard]] Result<std::vector<InterfaceAddress>> read_interface_addresses();

// The source address that the kernel selects for a destination; sends nothing. unavailable: no route.
[[nodiscard]] Result<Address> read_source_towards(const Address& target);

// The interface with an address; nullopt if no interface has it.
[[nodiscard]] std::optional<std::string> interface_of(std::span<const InterfaceAddress> known,
                                                      const Address& address);

// True if the other address is in the subnet of this one.
[[nodiscard]] bool is_neighbour(const InterfaceAddress& own, const Address& other);

// The first address of an interface from which `target` is reachable: of its family, and link-local only if
// the target is.
[[nodiscard]] std::optional<Address> address_on(std::span<const InterfaceAddress> known,
                                                const std::string& interface, const Address& target);

}  // namespace autopilot::probes::net
