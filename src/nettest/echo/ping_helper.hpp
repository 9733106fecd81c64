// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/helpers/helper_client.hpp"
#include "nettest/echo/peer_echo.hpp"

namespace autopilot::nettest {

// `autopilot helper ping`: asks other nodes whether they answer, for the agent. Gives the exit code of the
// process.
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

}  // namespace autopilot::nettest
