// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/all_pairs.hpp"

#include <algorithm>
#include <utility>

#include "nettest/plan/rail_round.hpp"
#include "nettest/plan/schedules.hpp"

namespace autopilot::nettest {
namespace {

using Pair = std::pair<NodeNumber, NodeNumber>;

// Pairs in the order of the circle method; pairs between leaves come last.
std::vector<Pair> pairs_in_order(const Fabric& fabric, RailNumber rail) {
  std::vector<NodeNumber> members;
  for (NodeNumber node = 0; node < fabric.nodes().size(); ++node)
    if (fabric.nic(rail, node) != nullptr) members.push_back(node);
  std::vector<Pair> pairs;
  for (std::size_t round = 0; round < circle_rounds(members.size()); ++round)
    for (NodeNumber i = 0; i < members.size(); ++i)
      if (const auto partner = circle_partner(members.size(), round, i); partner && *partner > i)
        pairs.emplace_back(members[i], members[*partner]);
  std::ranges::stable_partition(pairs, [&fabric](const Pair& pair) {
    return fabric.locality(pair.first, pair.second) != Locality::cross_leaf;
  });
  return pairs;
}

// Pairs not tested yet, by rail.
std::vector<std::vector<Pair>> pairs_left(const Known& known) {
  const std::size_t nodes = known.fabric.nodes().size();
  std::vector<bool> have_met(known.fabric.rails().size() * nodes * nodes);
  const auto place = [nodes](RailNumber rail, NodeNumber one, NodeNumber other) {
    return (rail * nodes + std::min(one, other)) * nodes + std::max(one, other);
  };
  for (const Record& record : known.records)
    have_met[place(record.test.rail, record.test.source, record.test.destination)] = true;
  std::vector<std::vector<Pair>> left;
  for (RailNumber rail = 0; rail < known.fabric.rails().size(); ++rail) {
    left.push_back(pairs_in_order(known.fabric, rail));
    std::erase_if(left.back(),
                  [&](const Pair& pair) { return have_met[place(rail, pair.first, pair.second)]; });
  }
  return left;
}

// Removes and returns as many pairs as can be tested at once.
std::vector<Record> take_round(const Known& known, std::vector<std::vector<Pair>>& left) {
  std::vector<Record> round;
  for (RailNumber rail = 0; rail < left.size(); ++rail) {
    RailRound tests(known, rail, round);
    std::erase_if(left[rail], [&](const Pair& pair) {
      const auto [one, other] = pair;
      const bool can_meet = tests.is_free(one) && tests.is_free(other) && tests.may_pair(one, other);
      if (can_meet) tests.pair(one, other, known.settings.samples);
      return can_meet;
    });
  }
  return round;
}

}  // namespace

std::vector<Record> all_pairs_round(const Known& known) {
  auto left = pairs_left(known);
  return take_round(known, left);
}

std::size_t all_pairs_rounds(const Fabric& fabric, const PairSettings& settings) {
  const std::vector<bool> gone(fabric.nodes().size());
  Known known{fabric, {}, gone, settings};
  auto left = pairs_left(known);
  while (!take_round(known, left).empty())
    ++known.round;
  return known.round;
}

}  // namespace autopilot::nettest
