// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/ping_targets.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::agent {
namespace {

// All agents must have the same.
constexpr std::uint64_t kSeed = 0x70696e67;

}  // namespace

std::vector<Peer> peers_to_ping(std::vector<Peer> peers, const std::string& self, const PingChoice& choice) {
  std::ranges::sort(peers, {}, &Peer::node);
  const auto own = std::ranges::find(peers, self, &Peer::node);
  const auto place = static_cast<fleet::NodeNumber>(own - peers.begin());
  std::set<std::size_t> chosen;
  const bool asks_few = peers.size() > PingChoice::kAskAll && !choice.asks_all && own != peers.end();
  if (asks_few) {
    const fleet::ContactRounds rounds(peers.size(), PingChoice::kPerRound, kSeed);
    for (const fleet::NodeNumber target : rounds.targets(place, choice.round % rounds.cycle()))
      chosen.insert(target);
  }
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (!asks_few || choice.again.contains(peers[i].node)) chosen.insert(i);
  std::vector<Peer> targets;
  for (const std::size_t i : chosen)
    if (peers[i].node != self) targets.push_back(std::move(peers[i]));
  return targets;
}

}  // namespace autopilot::agent
