// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nettest/plan/fabric.hpp"

namespace autopilot::nettest {

// Partners of each test among n nodes. All nodes calculate the same schedule from the arguments, without
// communication.

// Ring: n - 1 rounds, in which every node sends to one node and receives from one. All ordered pairs, once.
[[nodiscard]] constexpr std::size_t ring_rounds(std::size_t n) {
  return n == 0 ? 0 : n - 1;
}
[[nodiscard]] constexpr NodeNumber ring_destination(std::size_t n, std::size_t round, NodeNumber source) {
  return static_cast<NodeNumber>((source + round + 1) % n);
}

// Circle method: n - 1 rounds, or n rounds for an odd n. In each round every node has one partner; for an odd
// n one node has none. All unordered pairs, once.
[[nodiscard]] constexpr std::size_t circle_rounds(std::size_t n) {
  return n < 2 ? 0 : n - 1 + n % 2;
}
[[nodiscard]] std::optional<NodeNumber> circle_partner(std::size_t n, std::size_t round, NodeNumber node);

// Rounds of short requests: in each round every node sends a request to k others and receives k, so k nodes
// notice a dead node in the next round. The seed shuffles the distances to the targets: those of one round
// connect all nodes, and after cycle() rounds every node has sent a request to every other once. n * k
// requests in each round.
class ContactRounds {
 public:
  // Up to that many nodes all send requests to each other.
  static constexpr std::size_t kMostForFullMesh = 64;

  // targets: k; at most n - 1 are used. A k below the base-2 logarithm of n can leave groups that seldom send
  // requests to each other.
  ContactRounds(std::size_t n, std::size_t targets, std::uint64_t seed);

  [[nodiscard]] std::size_t cycle() const;
  // Each node at most once, never the node itself. Rails start at different places of the cycle: in one round
  // a node has other targets on each of them.
  [[nodiscard]] std::vector<NodeNumber> targets(NodeNumber node, std::size_t round,
                                                RailNumber rail = 0) const;

 private:
  std::size_t targets_;
  std::vector<NodeNumber> distances_;  // 1 to n - 1, shuffled
};

}  // namespace autopilot::nettest
