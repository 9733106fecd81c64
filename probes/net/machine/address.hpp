// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace autopilot::probes::net
