// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::probes::net {

// A numeric IP address. Never a host name, so that no resolver affects a measurement.
struct Address {
  bool is_ipv6 = false;
  std::array<std::uint8_t, 16> bytes{};  // in network byte order; IPv4 uses the first four
  std::string zone;                      // "eth0" of "fe80::1%eth0"
  std::string text;                      // in the kernel's format, with the zone

  [[nodiscard]] bool is_link_local() const;
};

// Equal addresses, regardless of the zone.
[[nodiscard]] bool is_same_address(const Address& a, const Address& b);

// "10.0.0.1", "2001:db8::1", "fe80::1%eth0". malformed: other text.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

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

// The interface that the kernel uses for packets between two addresses, from its routing tables and rules;
// sends nothing. Returns the kernel's error if it has no route.
[[nodiscard]] Result<std::string> interface_towards(const Address& from, const Address& to);

struct Locality {
  int numa_node = 0;
  std::vector<int> processors;
};

// NUMA location of the adapter behind an interface. For an interface on top of others (a bond, a VLAN), the
// location of the first of them by name. nullopt: unknown, as for virtual interfaces and machines without
// NUMA.
[[nodiscard]] std::optional<Locality> read_locality(const std::string& interface,
                                                    const std::string& sysfs = "/sys");

// Processors that this process is allowed to use, in ascending order.
[[nodiscard]] std::vector<int> read_allowed_processors();

// Restricts the calling process to these processors, so that memory it touches first is local to them.
// denied: this process is not allowed to use any of them.
[[nodiscard]] Status run_only_on(const std::vector<int>& processors);

}  // namespace autopilot::probes::net
