// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/ping_targets.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::nettest {
namespace {

// All agents must have the same.
constexpr std::uint64_t kSeed = 0x70696e67;

}  // namespace

std::vector<fleet::Peer> peers_to_ping(std::vector<fleet::Peer> peers, const std::string& self,
                                       const PingChoice& choice) {
  std::ranges::sort(peers, {}, &fleet::Peer::node);
  const auto own = std::ranges::find(peers, self, &fleet::Peer::node);
  const auto place = static_cast<NodeNumber>(own - peers.begin());
  std::set<std::size_t> chosen;
  const bool asks_few = peers.size() > PingChoice::kAskAll && !choice.asks_all && own != peers.end();
  if (asks_few) {
    const ContactRounds rounds(peers.size(), PingChoice::kPerRound, kSeed);
    for (const NodeNumber target : rounds.targets(place, choice.round % rounds.cycle()))
      chosen.insert(target);
  }
  for (std::size_t i = 0; i < peers.size(); ++i)
    if (!asks_few || choice.again.contains(peers[i].node)) chosen.insert(i);
  std::vector<fleet::Peer> targets;
  for (const std::size_t i : chosen)
    if (peers[i].node != self) targets.push_back(std::move(peers[i]));
  return targets;
}

}  // namespace autopilot::nettest
