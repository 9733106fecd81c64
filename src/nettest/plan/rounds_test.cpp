// SPDX-License-Identifier: Apache-2.0

#include "nettest/plan/rounds.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nettest/plan/pair_run.hpp"
#include "tests/support/nettest/simulated_fabric.hpp"
#include "tests/support/nettest/simulated_score.hpp"

namespace autopilot::nettest {

namespace {

using simulation::Fault;
using simulation::Shape;
using simulation::SimulatedFabric;
using testing::IsEmpty;
using testing::SizeIs;

PairSettings all_pairs_by_one_flow() {
  PairSettings settings = simulation::one_flow();
  settings.all_pairs = true;
  return settings;
}

Shape shape_of(std::size_t nodes, std::size_t per_leaf, bool knows_leaves) {
  return {.nodes = nodes,
          .per_leaf = per_leaf,
          .rails = 2,
          .do_flows_meet = false,
          .knows_rates = false,
          .knows_leaves = knows_leaves,
          .knows_uplinks = false};
}

// The rounds of a complete run, and its verdict.
struct Ran {
  std::vector<std::vector<PairTest>> rounds;
  Verdict verdict;
};

Ran run_to_its_end(SimulatedFabric& fabric) {
  Ran ran;
  PairRun run = PairRun::create(fabric.known(), all_pairs_by_one_flow()).value();
  for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
    for (PairResult& result : fabric.run(round))
      EXPECT_TRUE(run.take(std::move(result)));
    ran.rounds.push_back(std::move(round));
  }
  ran.verdict = run.verdict();
  return ran;
}

using Met = std::map<std::pair<NodeNumber, NodeNumber>, int>;

// How often each two met on the rail.
Met met_on(const Ran& ran, RailNumber rail) {
  Met met;
  for (const auto& round : ran.rounds)
    for (const PairTest& test : round)
      if (test.rail == rail) ++met[std::minmax(test.source, test.destination)];
  return met;
}

void expect_each_nic_once_a_round(const Ran& ran) {
  for (const auto& round : ran.rounds) {
    std::set<std::pair<RailNumber, NodeNumber>> busy;
    for (const PairTest& test : round)
      for (const NodeNumber node : {test.source, test.destination})
        EXPECT_TRUE(busy.emplace(test.rail, node).second) << "node " << node;
  }
}

TEST(AllPairs, every_two_meet_once_in_as_many_rounds_as_a_circle_takes) {
  for (const std::size_t nodes : {2U, 3U, 8U, 13U, 32U}) {
    SimulatedFabric fabric(shape_of(nodes, nodes, false));
    const Ran ran = run_to_its_end(fabric);
    EXPECT_THAT(ran.rounds, SizeIs(nodes - 1 + nodes % 2)) << nodes;
    EXPECT_EQ(all_pairs_rounds(fabric.known(), all_pairs_by_one_flow()), ran.rounds.size()) << nodes;
    for (const RailNumber rail : {0U, 1U}) {
      const Met met = met_on(ran, rail);
      EXPECT_THAT(met, SizeIs(nodes * (nodes - 1) / 2)) << nodes;
      EXPECT_TRUE(std::ranges::all_of(met, [](const auto& one) { return one.second == 1; })) << nodes;
    }
    expect_each_nic_once_a_round(ran);
    EXPECT_TRUE(ran.verdict.is_complete);
    EXPECT_THAT(ran.verdict.suspects, IsEmpty()) << nodes;
  }
}

TEST(AllPairs, few_leave_a_leaf_at_once_and_those_below_it_meet_first) {
  SimulatedFabric fabric(shape_of(32, 8, true));
  const Ran ran = run_to_its_end(fabric);
  EXPECT_THAT(met_on(ran, 0), SizeIs(32U * 31U / 2U));
  expect_each_nic_once_a_round(ran);
  const auto leaf = [&fabric](NodeNumber node) { return fabric.leaf_of(node); };
  for (const auto& round : ran.rounds) {
    std::map<std::pair<RailNumber, std::size_t>, std::size_t> leaving;
    for (const PairTest& test : round) {
      if (leaf(test.source) == leaf(test.destination)) continue;
      for (const NodeNumber node : {test.source, test.destination})
        EXPECT_LE(++leaving[std::pair(test.rail, leaf(node))], 3U);
    }
  }
  for (const PairTest& test : ran.rounds.front())
    EXPECT_EQ(leaf(test.source), leaf(test.destination));
}

TEST(AllPairs, a_slow_nic_and_a_bad_link_are_named) {
  SimulatedFabric fabric(shape_of(12, 12, false));
  fabric.plant({.kind = Fault::nic, .rail = 1, .one = 4, .loss = 0.4});
  fabric.plant({.kind = Fault::link, .rail = 0, .one = 2, .other = 9, .loss = 0.4});
  const Ran ran = run_to_its_end(fabric);
  ASSERT_THAT(ran.verdict.suspects, SizeIs(2));
  for (const Suspect& suspect : ran.verdict.suspects) {
    if (suspect.kind == SuspectKind::nic)
      EXPECT_THAT(suspect.nodes, testing::ElementsAre(4));
    else
      EXPECT_EQ(suspect.sentence.substr(0, 6), "n2 and") << suspect.sentence;
  }
  EXPECT_EQ(met_on(ran, 0).at({2, 9}), 2) << "a bad link is tested again";
}

TEST(AllPairs, a_bad_link_of_few_nodes_is_tested_again_as_well) {
  SimulatedFabric fabric(shape_of(4, 4, false));
  fabric.plant({.kind = Fault::link, .rail = 0, .one = 0, .other = 3, .loss = 0.4});
  EXPECT_EQ(met_on(run_to_its_end(fabric), 0).at({0, 3}), 2);
}

TEST(AllPairs, a_node_that_leaves_is_in_no_later_test) {
  SimulatedFabric fabric(shape_of(6, 6, false));
  PairRun run = PairRun::create(fabric.known(), all_pairs_by_one_flow()).value();
  const auto first = run.next_round();
  ASSERT_TRUE(run.leave(5));
  std::set<std::pair<NodeNumber, NodeNumber>> met;
  for (const PairTest& test : first)
    if (test.rail == 0 && test.source != 5 && test.destination != 5)
      met.insert(std::minmax(test.source, test.destination));
  for (auto round = run.next_round(); !round.empty(); round = run.next_round())
    for (const PairTest& test : round) {
      EXPECT_TRUE(test.source != 5 && test.destination != 5);
      if (test.rail == 0) met.insert(std::minmax(test.source, test.destination));
    }
  EXPECT_THAT(met, SizeIs(5U * 4U / 2U)) << "the others do";
}

TEST(AllPairs, of_too_many_nodes_there_is_no_table) {
  const SimulatedFabric fabric(shape_of(kMostForAllPairs + 1, kMostForAllPairs, false));
  const auto run = PairRun::create(fabric.known(), all_pairs_by_one_flow());
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Errc::exhausted);
  EXPECT_EQ(run.error().what, "the all-pairs test supports at most 128 nodes, but the fabric has 129");
}

}  // namespace

}  // namespace autopilot::nettest
