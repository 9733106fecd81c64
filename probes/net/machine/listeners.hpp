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

// A socket of TCP over IPv4 that listens.
struct Listener {
  std::array<std::uint8_t, 4> address{};  // in the order of the network
  int port = 0;
};

// Those of the kernel's table of sockets. A line that cannot be read counts for nothing.
[[nodiscard]] std::vector<Listener> listeners_in(std::string_view table);

// Those of the network that this process is in. Whoever asks connects to nobody.
[[nodiscard]] Result<std::vector<Listener>> read_listeners(const std::string& path = "/proc/self/net/tcp");

// At this address itself, not at all of them together.
[[nodiscard]] bool is_listened_at(std::span<const Listener> listeners, const Address& address, int port);

}  // namespace autopilot::probes::net
