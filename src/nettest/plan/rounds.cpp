// SPDX-License-Identifier: Apache-2.0

#include "nettest/plan/rounds.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

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

namespace {

constexpr std::uint32_t kFewUplinks = 4;  // with fewer uplinks, two tests share one most of the time
constexpr double kPartOfUplinks =
    0.25;  // share of the uplinks for tests between leaves, so that flows seldom share one
constexpr std::size_t kMostLowFlows = 20;   // low flows of a pair that are repeated
constexpr std::size_t kLowFlowRepeats = 5;  // repeats of each
constexpr std::size_t kLeastRepeats = 48;   // of all flows of a pair together
constexpr std::size_t kLeastFlowsOfLeaf =
    2;  // tests that leave a leaf; with one, either leaf can be the cause
// The same if each test is one flow: fewer than three votes can occur by chance.
constexpr std::size_t kLeastOfLeafByOneFlow = 3;

std::size_t least_of_leaf(const PairSettings& settings) {
  return settings.is_one_flow() ? kLeastOfLeafByOneFlow : kLeastFlowsOfLeaf;
}

}  // namespace

RailRound::RailRound(const Known& known, RailNumber rail, std::vector<Record>& round)
    : known_(known),
      rail_(rail),
      round_(round),
      is_busy_(known.gone),
      random_(known.settings.seed + 1000 * known.round + rail) {
  for (NodeNumber node = 0; node < is_busy_.size(); ++node)
    is_busy_[node] = is_busy_[node] || known.fabric.nic(rail, node) == nullptr;
  for (LeafNumber leaf = 0; leaf < known.fabric.leaves().size(); ++leaf)
    most_.push_back(most_of(leaf));
  used_.resize(most_.size());
}

std::vector<NodeNumber> RailRound::free_members(LeafNumber leaf) const {
  std::vector<NodeNumber> members = known_.fabric.members(rail_, leaf);
  std::erase_if(members, [&](NodeNumber node) { return is_busy_[node]; });
  return members;
}

bool RailRound::may_explore(LeafNumber leaf) const {
  return used_[leaf] < std::max(std::min(least_of_leaf(known_.settings), most_[leaf]), most_[leaf] / 2);
}

bool RailRound::may_pair(NodeNumber a, NodeNumber b) const {
  if (known_.fabric.locality(a, b) != Locality::cross_leaf) return true;
  return has_room(known_.fabric.leaf(a)) && has_room(known_.fabric.leaf(b));
}

void RailRound::shuffle(std::vector<NodeNumber>& nodes) {
  std::ranges::shuffle(nodes, random_);
}

void RailRound::pair(NodeNumber a, NodeNumber b, std::size_t samples, bool is_repeat) {
  Record record;
  record.locality = known_.fabric.locality(a, b);
  const bool is_cross = record.locality == Locality::cross_leaf;
  record.test.flows.resize(is_cross ? known_.settings.cross_flows : samples);
  std::iota(record.test.flows.begin(), record.test.flows.end(), std::uint16_t{0});
  if (is_cross && is_repeat)
    record.test.flows.insert(record.test.flows.end(), record.test.flows.begin(), record.test.flows.end());
  if (is_cross) std::ranges::shuffle(record.test.flows, random_);
  record.test.source = a;
  record.test.destination = b;
  add(std::move(record), is_repeat);
}

void RailRound::repeat(NodeNumber a, NodeNumber b, std::vector<std::uint16_t> low_flows) {
  Record record;
  record.locality = Locality::cross_leaf;
  record.is_of_low_flows = true;
  record.test.source = a;
  record.test.destination = b;
  if (low_flows.size() > kMostLowFlows) low_flows.resize(kMostLowFlows);
  std::vector<std::uint16_t>& flows = record.test.flows;
  for (std::size_t repeat = 0; repeat < kLowFlowRepeats; ++repeat)
    flows.insert(flows.end(), low_flows.begin(), low_flows.end());
  // Shuffled among others: flows that shared an uplink must not do so in each repeat.
  while (flows.size() < kLeastRepeats)
    flows.push_back(static_cast<std::uint16_t>(random_() % known_.settings.cross_flows));
  std::ranges::shuffle(flows, random_);
  add(std::move(record), true);
}

void RailRound::add(Record record, bool is_repeat) {
  record.round = known_.round;
  record.test.rail = rail_;
  for (const NodeNumber node : {record.test.source, record.test.destination}) {
    is_busy_[node] = true;
    const LeafNumber leaf = known_.fabric.leaf(node);
    if (!is_repeat && record.locality == Locality::cross_leaf) ++used_[leaf];
  }
  round_.push_back(std::move(record));
}

// A small share of what its uplinks carry.
std::size_t RailRound::most_of(LeafNumber leaf) const {
  const std::optional<LeafUplinks>& uplinks = known_.fabric.uplinks(leaf);
  const std::size_t usual_least = least_of_leaf(known_.settings);
  if (!uplinks) return usual_least;
  double fastest = 0;
  for (const NodeNumber node : known_.fabric.members(rail_, leaf))
    fastest = std::max(fastest, known_.fabric.nic(rail_, node)->line_rate.value_or(0));
  if (fastest == 0) return usual_least;
  const double carried = uplinks->count * uplinks->line_rate / (fastest * known_.settings.share_of_line_rate);
  const std::size_t least = uplinks->count < kFewUplinks ? 1 : usual_least;
  return std::max(least, static_cast<std::size_t>(carried * kPartOfUplinks));
}

}  // namespace autopilot::nettest
