// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/pair_tests/fabric.hpp"

namespace autopilot::fleet {

// Who is tested against whom, of n nodes. All agree on it without a word: it follows from the arguments.

// Ring: n - 1 rounds, in which every node sends to one and receives from one. All ordered pairs, once.
[[nodiscard]] constexpr std::size_t ring_rounds(std::size_t n) {
  return n == 0 ? 0 : n - 1;
}
[[nodiscard]] constexpr NodeNumber ring_destination(std::size_t n, std::size_t round, NodeNumber source) {
  return static_cast<NodeNumber>((source + round + 1) % n);
}

// Circle method: n - 1 rounds, n of an odd n, in which every node has one partner or, one of an odd n, none.
// All unordered pairs, once.
[[nodiscard]] constexpr std::size_t circle_rounds(std::size_t n) {
  return n < 2 ? 0 : n - 1 + n % 2;
}
[[nodiscard]] std::optional<NodeNumber> circle_partner(std::size_t n, std::size_t round, NodeNumber node);

// Rounds of short questions ("do you answer?"): in each every node asks k others and is asked by k others, so
// a dead node is noticed by k in the next round. The distances to those who are asked are mixed by the seed:
// together those of one round hold all nodes together, and after cycle() rounds every node has asked every
// other once. n * k questions a round.
class ContactRounds {
 public:
  // Up to that many nodes ask each other all at once.
  static constexpr std::size_t kMostForFullMesh = 64;

  // targets: k, at most n - 1 are asked. Fewer than the logarithm of n to the base 2 may leave groups that
  // hardly ask each other.
  ContactRounds(std::size_t n, std::size_t targets, std::uint64_t seed);

  [[nodiscard]] std::size_t cycle() const;
  // Each node once, never the node itself. Rails begin at other places of the cycle: in one round a node asks
  // others on each of them.
  [[nodiscard]] std::vector<NodeNumber> targets(NodeNumber node, std::size_t round,
                                                RailNumber rail = 0) const;

 private:
  std::size_t targets_;
  std::vector<NodeNumber> distances_;  // 1 to n - 1, mixed
};

}  // namespace autopilot::fleet
