// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "nettest/plan/fabric.hpp"
#include "nettest/plan/readings.hpp"
#include "nettest/plan/round_plan.hpp"

namespace autopilot::nettest {

// Full table: every pair of NICs of a rail is tested once, regardless of earlier results. Pairs under one
// leaf or of unknown leaf come first, in the order of the circle method; few pairs leave a leaf at once.

inline constexpr std::size_t kMostForAllPairs = 128;  // nodes

// Pairs not tested yet, as Record in round_plan.hpp. Empty: all remaining nodes have been tested with each
// other.
[[nodiscard]] std::vector<Record> all_pairs_round(const Known& known);

// Number of rounds if no node leaves.
[[nodiscard]] std::size_t all_pairs_rounds(const Fabric& fabric, const PairSettings& settings);

// Plans the tests of one rail in a round: each NIC is in at most one test, and few tests leave a leaf at
// once.
class RailRound {
 public:
  // known and round must outlive the object; it adds tests to round.
  RailRound(const Known& known, RailNumber rail, std::vector<Record>& round);

  // True for a node on the rail that has not left and has no test in the round.
  [[nodiscard]] bool is_free(NodeNumber node) const { return !is_busy_[node]; }
  [[nodiscard]] std::vector<NodeNumber> free_members(LeafNumber leaf) const;
  // True if one more test between leaves is allowed that only explores a path.
  [[nodiscard]] bool may_explore(LeafNumber leaf) const;
  // False if the nodes are under two leaves, one of which has its maximum of tests.
  [[nodiscard]] bool may_pair(NodeNumber a, NodeNumber b) const;
  void shuffle(std::vector<NodeNumber>& nodes);
  // A repeat does not count among the tests that leave a leaf.
  void pair(NodeNumber a, NodeNumber b, std::size_t samples, bool is_repeat = false);
  // Repeats each of these flows several times, shuffled among others.
  void repeat(NodeNumber a, NodeNumber b, std::vector<std::uint16_t> low_flows);

 private:
  void add(Record record, bool is_repeat);
  [[nodiscard]] bool has_room(LeafNumber leaf) const { return used_[leaf] < most_[leaf]; }
  [[nodiscard]] std::size_t most_of(LeafNumber leaf) const;

  const Known& known_;
  RailNumber rail_;
  std::vector<Record>& round_;
  std::vector<bool> is_busy_;  // by node
  std::mt19937_64 random_;
  std::vector<std::size_t> most_;  // by leaf: number of tests that can leave it at once
  std::vector<std::size_t> used_;  // number of tests in use
};

}  // namespace autopilot::nettest
