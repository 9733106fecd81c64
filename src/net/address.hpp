// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::net {

// An IP address and a port; the address is empty where none was given (":3333").
struct IpPort {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
};

// "127.0.0.1:3333", "[::1]:3333", ":3333", and localhost as 127.0.0.1. Other names are malformed: nothing is
// looked up.
[[nodiscard]] Result<IpPort> parse_ip_port(std::string_view text);
// With brackets around IPv6.
[[nodiscard]] std::string to_string(const IpPort& address);

}  // namespace autopilot::net
