// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace autopilot::nettest {

// Asks all addresses of the plan from this thread, in its order, and returns when all have answered or been
// given up; at the deadline (of mono_now()) with what is known by then: nothing is sent for whose answer
// there would be no time. Questions are spread over time: no more in a second than the plan says, and none to
// the same address within kBetweenEchoes of the last. Whoever does not answer, answers twice or out of order
// is asked more closely. denied: neither ICMP nor a port of TCP may be asked. What is wrong with one address
// is told with it.
[[nodiscard]] Result<std::vector<PeerEcho>> ask_peers(const EchoPlan& plan, MonoTime deadline);

inline constexpr Duration kBetweenEchoes = std::chrono::milliseconds{20};
// Of an ordinary question: what ping(8) sends.
inline constexpr std::size_t kEchoPacket = 84;

}  // namespace autopilot::nettest
