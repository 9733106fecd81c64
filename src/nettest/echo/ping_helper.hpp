// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/helpers/helper_client.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace autopilot::nettest {

// `autopilot helper ping`: pings other nodes for the agent. Returns the exit code of the process.
[[nodiscard]] int run_ping_helper(int fd);

// Asks in a helper process, which ends after each round: its memory is needed for seconds in minutes, and the
// right that it may have is not the agent's. Thread-safe.
class PingHelper {
 public:
  explicit PingHelper(host::Command helper);

  // As ask_peers says, of any number of addresses: kMostAddresses at a time, each in its share of the time.
  // Those of a part that failed are told with EchoWay::none; an error where all parts did. The deadline is of
  // mono_now().
  [[nodiscard]] Result<std::vector<PeerEcho>> ask(const EchoPlan& plan, MonoTime deadline);

 private:
  [[nodiscard]] Result<std::vector<PeerEcho>> ask_some(const EchoPlan& plan, MonoTime deadline);

  host::HelperClient helper_;
};

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
