// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace autopilot::nettest {

// Connects to a port of each peer, and disconnects: a peer that accepts or refuses has answered. Fills in the
// result, `echoes` times one after the other.
struct TcpReach {
  std::uint16_t port = 0;
  unsigned echoes = 3;
  Duration patience = std::chrono::seconds{1};
  MonoTime deadline{};
};
void reach_by_tcp(const std::vector<PeerEcho*>& peers, const TcpReach& how);

}  // namespace autopilot::nettest
