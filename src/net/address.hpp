// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::net {

// An IP address and a port. The address is empty if the text has only a port (":3333").
struct IpPort {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
};

// Accepts "127.0.0.1:3333", "[::1]:3333", ":3333", and localhost as 127.0.0.1. Other host names are
// malformed: this function makes no DNS query.
[[nodiscard]] Result<IpPort> parse_ip_port(std::string_view text);
// Puts an IPv6 address in brackets.
[[nodiscard]] std::string to_string(const IpPort& address);

}  // namespace autopilot::net
