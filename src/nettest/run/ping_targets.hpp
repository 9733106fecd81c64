// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "fleet/peers.hpp"
#include "nettest/plan/schedules.hpp"

namespace autopilot::nettest {

struct PingChoice {
  // Up to so many nodes each one asks all others, and more are a choice.
  static constexpr std::size_t kAskAll = ContactRounds::kMostForFullMesh;
  static constexpr std::size_t kPerRound = 16;

  bool asks_all = false;
  std::uint64_t round = 0;      // the same on all nodes
  std::set<std::string> again;  // nodes that are asked in any case
};

// Of all agents there are those whose nodes this one asks, in order of their names; not its own. Where they
// are a choice, every node is asked by kPerRound others in each round, and all pairs meet within
// (n - 1) / kPerRound rounds, rounded up. Pure.
[[nodiscard]] std::vector<fleet::Peer> peers_to_ping(std::vector<fleet::Peer> peers, const std::string& self,
                                                     const PingChoice& choice);

}  // namespace autopilot::nettest
