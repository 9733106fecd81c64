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

  // As ask_peers, for any number of addresses: kMostAddresses in a request, each request with an equal share
  // of the remaining time. The addresses of a failed request get EchoWay::none and the reason; an error only
  // if all requests failed. The deadline is of mono_now().
  [[nodiscard]] Result<std::vector<PeerEcho>> ask(const EchoPlan& plan, MonoTime deadline);

 private:
  [[nodiscard]] Result<std::vector<PeerEcho>> ask_some(const EchoPlan& plan, MonoTime deadline);

  host::HelperClient helper_;
};

// Asks all addresses of the plan from this thread, in its order. Blocks until all have answered or their
// patience is over, at most until the deadline (of mono_now()), and returns the results so far; it sends no
// question whose answer would come after the deadline. Sends at most EchoPlan::per_second packets in a
// second, and to one address at most one in kBetweenEchoes. An address that misses an answer, answers twice
// or out of order gets EchoPlan::closer more questions. denied: neither ICMP nor a port of TCP may be asked.
// Problems of one address are in its PeerEcho.
[[nodiscard]] Result<std::vector<PeerEcho>> ask_peers(const EchoPlan& plan, MonoTime deadline);

inline constexpr Duration kBetweenEchoes = std::chrono::milliseconds{20};
// Of an ordinary question: what ping(8) sends.
inline constexpr std::size_t kEchoPacket = 84;

}  // namespace autopilot::nettest
