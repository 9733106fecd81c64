// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// A listening TCP socket over IPv4.
struct Listener {
  std::array<std::uint8_t, 4> address{};  // in network byte order
  int port = 0;
};

// Listening sockets in the kernel's table. Malformed lines are skipped.
[[nodiscard]] std::vector<Listener> listeners_in(std::string_view table);

// Listening sockets in the network namespace of this process. Opens no connection.
[[nodiscard]] Result<std::vector<Listener>> read_listeners(const std::string& path = "/proc/self/net/tcp");

// True for this address itself, not for the wildcard address.
[[nodiscard]] bool is_listened_at(std::span<const Listener> listeners, const Address& address, int port);

}  // namespace autopilot::probes::net
