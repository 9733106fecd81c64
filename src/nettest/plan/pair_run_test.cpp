// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/pair_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "tests/support/nettest/simulated_fabric.hpp"
#include "tests/support/nettest/simulated_score.hpp"

namespace autopilot::nettest {
namespace {

using simulation::Fault;
using simulation::Planted;
using simulation::Shape;
using simulation::SimulatedFabric;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Verdict verdict_of(const Shape& shape, const std::vector<Planted>& faults,
                   const PairSettings& settings = {}) {
  SimulatedFabric fabric(shape);
  for (const Planted& fault : faults)
    fabric.plant(fault);
  return simulation::run_all(fabric, settings);
}

// Suspects without the undecided ones: "node n3", "link n1 n2 rail 0".
std::vector<std::string> accused(const Verdict& verdict) {
  std::vector<std::string> words;
  for (const Suspect& suspect : verdict.suspects) {
    if (suspect.kind == SuspectKind::undecided) continue;
    std::string text(to_string(suspect.kind));
    for (const NodeNumber node : suspect.nodes)
      text += " n" + std::to_string(node);
    if (suspect.rail) text += " rail " + std::to_string(*suspect.rail);
    words.push_back(text);
  }
  return words;
}

void take_round(PairRun& run, SimulatedFabric& fabric, const std::vector<PairTest>& round) {
  for (PairResult& result : fabric.run(round))
    ASSERT_TRUE(run.take(std::move(result)));
}

TEST(PairRun, a_healthy_cluster_needs_two_rounds_and_has_no_suspect) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Verdict verdict = verdict_of({.nodes = 128, .rails = 2, .seed = seed}, {});
    EXPECT_THAT(accused(verdict), IsEmpty());
    EXPECT_TRUE(verdict.is_complete);
    EXPECT_LE(verdict.rounds, 3U);
    EXPECT_NEAR(verdict.noise.within, 0.02, 0.005);
  }
}

TEST(PairRun, no_nic_is_in_two_tests_of_a_round) {
  SimulatedFabric fabric({.nodes = 100, .per_leaf = 13, .rails = 3, .noise = 0.03});
  for (NodeNumber node = 0; node < 100; node += 9)
    fabric.plant({.kind = Fault::node, .one = node});
  PairRun run = PairRun::create(fabric.known(), {}).value();
  std::size_t rounds = 0;
  for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
    std::set<std::pair<RailNumber, NodeNumber>> busy;
    for (const PairTest& test : round)
      for (const NodeNumber node : {test.source, test.destination})
        EXPECT_TRUE(busy.emplace(test.rail, node).second) << "round " << rounds << ", node " << node;
    take_round(run, fabric, round);
    ++rounds;
  }
  EXPECT_EQ(rounds, 3U);
}

TEST(PairRun, a_slow_nic_is_reported_with_its_evidence) {
  const Verdict verdict = verdict_of({.nodes = 64, .rails = 4, .noise = 0.005},
                                     {{.kind = Fault::nic, .rail = 3, .one = 17, .loss = 0.3}});
  ASSERT_THAT(accused(verdict), ElementsAre("nic n17 rail 3"));
  const Suspect& suspect = verdict.suspects.front();
  EXPECT_NEAR(suspect.loss, 0.3, 0.02);
  EXPECT_GT(suspect.confidence, 0.95);
  EXPECT_EQ(suspect.partners, 3U);
  EXPECT_EQ(
      suspect.sentence,
      "n17 on rail 3 (mlx5_3): 30 % less than usual with 3 partners that are healthy with others; 3 other "
      "rails of the node are healthy");
  ASSERT_EQ(suspect.evidence.size(), 6U);
  for (const Evidence& evidence : suspect.evidence) {
    EXPECT_TRUE(evidence.is_low);
    EXPECT_TRUE(evidence.from == 17 || evidence.to == 17);
    const Cell& cell = verdict.cells.at(evidence.test);
    EXPECT_EQ(cell.rail, 3U);
    const std::optional<double>& value = cell.source == evidence.from ? cell.forward : cell.backward;
    EXPECT_NEAR(value.value_or(0) / cell.usual.value_or(1), evidence.share, 1e-9);
  }
}

TEST(PairRun, directions_are_distinguished) {
  const Verdict verdict = verdict_of(
      {.nodes = 64, .rails = 2},
      {{.kind = Fault::nic_sends, .rail = 0, .one = 5}, {.kind = Fault::nic_receives, .rail = 1, .one = 40}});
  EXPECT_THAT(accused(verdict),
              testing::UnorderedElementsAre("nic_sends n5 rail 0", "nic_receives n40 rail 1"));
}

// As a read is slower than a write, on each rail by another share.
Verdict verdict_with_slow_ways_back(NodeNumber nodes, const std::vector<double>& shares,
                                    const std::vector<Planted>& faults, bool is_known) {
  SimulatedFabric fabric({.nodes = nodes, .rails = static_cast<RailNumber>(shares.size()), .noise = 0.003});
  for (const Planted& fault : faults)
    fabric.plant(fault);
  PairRun run = PairRun::create(fabric.known(), {.is_back_by_other_means = is_known}).value();
  for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
    std::map<std::uint32_t, RailNumber> rails;
    for (const PairTest& test : round)
      rails[test.id] = test.rail;
    for (PairResult& result : fabric.run(round)) {
      for (double& sample : result.backward)
        sample *= shares[rails.at(result.id)];
      EXPECT_TRUE(run.take(std::move(result)));
    }
  }
  return run.verdict();
}

TEST(PairRun, reverse_directions_by_other_means_are_compared_with_each_other) {
  const std::vector<double> shares{0.95, 0.7};
  EXPECT_THAT(verdict_with_slow_ways_back(32, shares, {}, true).suspects, IsEmpty());
  const Planted slow{.kind = Fault::nic_sends, .rail = 1, .one = 5, .loss = 0.06};
  const Verdict verdict = verdict_with_slow_ways_back(32, shares, {slow}, true);
  ASSERT_THAT(accused(verdict), ElementsAre("nic_sends n5 rail 1"));
  for (const Cell& cell : verdict.cells) {
    // Across leaves hardly a pair was tested.
    if (cell.locality != Locality::same_leaf) continue;
    EXPECT_NEAR(cell.usual_backward.value_or(0) / cell.usual.value_or(1), shares[cell.rail], 0.01);
  }
  // Else what is sent there hides behind what always comes back slower.
  EXPECT_THAT(accused(verdict_with_slow_ways_back(32, shares, {slow}, false)),
              testing::Not(ElementsAre("nic_sends n5 rail 1")));
}

// One port of another kind beside eight, and clusters in which there is little to compare.
TEST(PairRun, slow_reverse_directions_of_a_rail_make_no_suspect) {
  const std::vector<double> nine{0.97, 0.97, 0.97, 0.97, 0.97, 0.97, 0.97, 0.97, 0.8};
  for (const NodeNumber nodes : {2U, 3U, 4U, 5U, 8U, 16U, 33U})
    for (const std::vector<double>& shares : {nine, {0.6}, {1.0, 0.7}, {0.95, 0.95, 0.8}})
      EXPECT_THAT(verdict_with_slow_ways_back(nodes, shares, {}, true).suspects, IsEmpty())
          << nodes << " nodes, " << shares.size() << " rails";
}

TEST(PairRun, a_slow_node_is_one_suspect_and_not_one_for_each_rail) {
  const Verdict verdict =
      verdict_of({.nodes = 64, .rails = 8, .noise = 0.005}, {{.kind = Fault::node, .one = 9, .loss = 0.2}});
  ASSERT_THAT(accused(verdict), ElementsAre("node n9"));
  EXPECT_THAT(verdict.suspects.front().sentence, HasSubstr("n9 on all its rails: 20 % less than usual"));
}

TEST(PairRun, a_bad_link_blames_neither_of_its_ends) {
  const Shape shape{.nodes = 64, .rails = 2};
  // A pair that meets in the first round.
  const Planted link = simulation::some_faults(SimulatedFabric(shape), {}, Fault::link, 1, 0.3).front();
  const Verdict verdict = verdict_of(shape, {link});
  const auto [one, other] = std::minmax(link.one, link.other);
  const std::string ends = "n" + std::to_string(one) + " n" + std::to_string(other);
  ASSERT_THAT(accused(verdict), ElementsAre("link " + ends + " rail " + std::to_string(link.rail)));
  EXPECT_THAT(verdict.suspects.front().sentence, HasSubstr("between them, both are healthy with others"));
}

TEST(PairRun, a_dead_node_is_unreachable_and_not_slow) {
  const Verdict verdict =
      verdict_of({.nodes = 64, .rails = 2}, {{.kind = Fault::node, .one = 33, .loss = 1}});
  ASSERT_THAT(accused(verdict), ElementsAre("node n33"));
  EXPECT_TRUE(verdict.suspects.front().is_unreachable);
  EXPECT_EQ(verdict.suspects.front().loss, 1);
  EXPECT_THAT(verdict.suspects.front().sentence, HasSubstr("no data arrives"));
}

TEST(PairRun, two_that_do_not_reach_each_other_are_a_broken_link) {
  const Shape shape{.nodes = 64, .rails = 2};
  const Planted link = simulation::some_faults(SimulatedFabric(shape), {}, Fault::link, 1, 1).front();
  const Verdict verdict = verdict_of(shape, {link});
  ASSERT_EQ(accused(verdict).size(), 1U);
  EXPECT_EQ(verdict.suspects.front().kind, SuspectKind::link);
  EXPECT_TRUE(verdict.suspects.front().is_unreachable);
}

TEST(PairRun, a_slow_leaf_is_one_suspect_and_not_all_nodes_under_it) {
  const Verdict verdict = verdict_of({.nodes = 128, .per_leaf = 16, .rails = 2},
                                     {{.kind = Fault::leaf, .rail = 1, .one = 3, .loss = 0.4}});
  ASSERT_EQ(accused(verdict).size(), 1U);
  EXPECT_EQ(verdict.suspects.front().kind, SuspectKind::leaf);
  EXPECT_EQ(verdict.suspects.front().leaf, 3U);
  EXPECT_EQ(verdict.suspects.front().nodes.size(), 16U);
}

// Tests by one flow, as over TCP, with less than the line rate between leaves: a NIC with the usual rate
// there can be slow.
Verdict verdict_by_one_flow(const Shape& like, const std::vector<NodeNumber>& slow, double loss) {
  Shape shape = like;
  shape.noise = 0.01;
  shape.do_flows_meet = false;
  shape.knows_rates = false;
  shape.knows_uplinks = false;
  std::vector<Planted> faults;
  for (const NodeNumber node : slow)
    faults.push_back({.kind = Fault::nic, .one = node, .loss = loss});
  return verdict_of(shape, faults,
                    {.most_samples = 8, .cross_flows = 1, .least_loss = 0.1, .seed = shape.seed});
}

std::vector<NodeNumber> first_nodes(NodeNumber count) {
  std::vector<NodeNumber> nodes(count);
  std::iota(nodes.begin(), nodes.end(), NodeNumber{0});
  return nodes;
}

TEST(PairRun, a_test_between_leaves_clears_no_nic_that_is_faster_than_what_is_usual_there) {
  // Under a leaf of two NICs, no third NIC shows which of them is slow.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Verdict verdict =
        verdict_by_one_flow({.nodes = 16, .per_leaf = 2, .across = 0.25, .seed = seed}, {0}, 0.5);
    EXPECT_THAT(accused(verdict), IsEmpty()) << "seed " << seed;
    ASSERT_EQ(verdict.suspects.size(), 1U) << "seed " << seed;
    EXPECT_THAT(verdict.suspects.front().nodes, ElementsAre(0U, 1U));
    EXPECT_NEAR(verdict.suspects.front().loss, 0.5, 0.05);
  }
}

TEST(PairRun, slow_nics_under_small_leaves_are_found_by_their_neighbours) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Verdict one =
        verdict_by_one_flow({.nodes = 6, .per_leaf = 3, .across = 0.3, .seed = seed}, {0}, 0.5);
    EXPECT_THAT(accused(one), ElementsAre("nic n0 rail 0")) << "seed " << seed;
    EXPECT_EQ(one.suspects.size(), 1U) << "seed " << seed;
    const Verdict two =
        verdict_by_one_flow({.nodes = 16, .per_leaf = 4, .across = 0.25, .seed = seed}, {0, 1}, 0.5);
    EXPECT_THAT(accused(two), testing::UnorderedElementsAre("nic n0 rail 0", "nic n1 rail 0"))
        << "seed " << seed;
    EXPECT_EQ(two.suspects.size(), 2U) << "seed " << seed;
  }
}

TEST(PairRun, a_slow_leaf_is_found_by_the_tests_among_its_nodes) {
  const std::vector<std::pair<Shape, double>> cases{{{.nodes = 24, .per_leaf = 8}, 0.5},
                                                    {{.nodes = 64, .per_leaf = 16, .across = 0.5}, 0.3},
                                                    {{.nodes = 32, .per_leaf = 8}, 0.5},
                                                    {{.nodes = 64, .per_leaf = 16}, 0.5}};
  for (auto [shape, loss] : cases)
    for (shape.seed = 1; shape.seed <= 20; ++shape.seed) {
      const auto count = static_cast<NodeNumber>(shape.per_leaf);
      const Verdict verdict = verdict_by_one_flow(shape, first_nodes(count), loss);
      ASSERT_EQ(verdict.suspects.size(), 1U) << shape.nodes << " nodes, seed " << shape.seed;
      const Suspect& suspect = verdict.suspects.front();
      EXPECT_EQ(suspect.kind, SuspectKind::leaf);
      EXPECT_EQ(suspect.leaf, 0U);
      EXPECT_EQ(suspect.nodes, first_nodes(count));
      EXPECT_NEAR(suspect.loss, loss, 0.03) << suspect.sentence;
      EXPECT_GE(suspect.confidence, 0.9);
      EXPECT_FALSE(suspect.evidence.empty());
    }
}

TEST(PairRun, the_sentence_of_a_slow_leaf_states_that_only_its_own_nodes_tested_it) {
  const Verdict verdict =
      verdict_by_one_flow({.nodes = 64, .per_leaf = 16, .across = 0.5}, first_nodes(16), 0.3);
  ASSERT_EQ(verdict.suspects.size(), 1U);
  EXPECT_EQ(verdict.suspects.front().sentence,
            "leaf leaf0 on rail 0: 30 % less than usual on 16 nodes under it with each other");
}

TEST(PairRun, a_slow_rail_is_found_if_line_rates_are_known) {
  const Shape shape{.nodes = 64, .rails = 4};
  SimulatedFabric fabric(shape);
  for (std::uint32_t leaf = 0; leaf < fabric.leaves(); ++leaf)
    fabric.plant({.kind = Fault::leaf, .rail = 2, .one = leaf, .loss = 0.3});
  const Verdict verdict = simulation::run_all(fabric, {});
  EXPECT_THAT(accused(verdict), ElementsAre("rail rail 2"));
}

TEST(PairRun, a_bad_path_between_two_leaves_blames_neither_of_them) {
  const Verdict verdict =
      verdict_of({.nodes = 48, .per_leaf = 16}, {{.kind = Fault::way, .one = 0, .other = 2, .loss = 0.4}});
  ASSERT_EQ(accused(verdict).size(), 1U);
  const Suspect& suspect = verdict.suspects.front();
  EXPECT_EQ(suspect.kind, SuspectKind::between_leaves);
  EXPECT_EQ(suspect.leaf, 0U);
  EXPECT_EQ(suspect.other_leaf, 2U);
}

TEST(PairRun, uplinks_and_spines_are_found_by_votes) {
  const Shape shape{.nodes = 256, .per_leaf = 16, .oversubscription = 2};
  const auto first_of = [&](const Planted& fault) {
    const Verdict verdict = verdict_of(shape, {fault});
    EXPECT_EQ(accused(verdict).size(), 1U);
    return verdict.suspects.empty() ? Suspect{} : verdict.suspects.front();
  };
  const Suspect uplink = first_of({.kind = Fault::uplink, .one = 4, .other = 2, .loss = 0.5});
  EXPECT_EQ(uplink.kind, SuspectKind::uplink);
  EXPECT_EQ(uplink.leaf, 4U);
  EXPECT_THAT(uplink.sentence, testing::MatchesRegex("1 of ~([5-9]|1[0-4]) uplinks of leaf leaf4: .*"));
  const Suspect uplinks = first_of({.kind = Fault::uplinks, .one = 11, .loss = 0.5});
  EXPECT_EQ(uplinks.kind, SuspectKind::uplinks);
  EXPECT_EQ(uplinks.leaf, 11U);
  const Suspect spine = first_of({.kind = Fault::spine, .other = 5, .loss = 0.5});
  EXPECT_EQ(spine.kind, SuspectKind::spine);
}

TEST(PairRun, an_oversubscribed_fabric_is_not_called_slow) {
  for (const bool is_known : {true, false}) {
    const Verdict verdict = verdict_of(
        {.nodes = 128, .per_leaf = 32, .rails = 2, .oversubscription = 8, .knows_uplinks = is_known}, {});
    EXPECT_THAT(accused(verdict), IsEmpty());
  }
}

TEST(PairRun, slower_nics_are_compared_with_their_own_line_rate) {
  // Every fourth node has NICs of half the rate, and reports that rate.
  SimulatedFabric fabric({.nodes = 64, .rails = 2});
  std::vector<FabricNode> nodes = fabric.known().nodes();
  for (NodeNumber node = 0; node < nodes.size(); node += 4) {
    fabric.plant({.kind = Fault::node, .one = node, .loss = 0.5});
    for (RailNic& nic : nodes[node].nics)
      nic.line_rate = fabric.shape().line_rate / 2;
  }
  fabric.plant({.kind = Fault::nic, .rail = 1, .one = 8, .loss = 0.2});
  PairRun run = PairRun::create(Fabric::create(nodes).value(), {}).value();
  for (auto round = run.next_round(); !round.empty(); round = run.next_round())
    take_round(run, fabric, round);
  EXPECT_THAT(accused(run.verdict()), ElementsAre("nic n8 rail 1"));
}

TEST(PairRun, no_node_is_slow_if_all_are_equally_slow) {
  const Shape shape{.nodes = 32, .rails = 2};
  std::vector<Planted> all;
  for (NodeNumber node = 0; node < 32; ++node)
    all.push_back({.kind = Fault::node, .one = node, .loss = 0.5});
  const Verdict verdict = verdict_of(shape, all);
  EXPECT_THAT(accused(verdict), IsEmpty());
  ASSERT_FALSE(verdict.references.empty());
  EXPECT_NEAR(verdict.references.front().usual.centre, 0.46, 0.02)
      << "the share of the line rate shows the loss";
  all.pop_back();
  EXPECT_THAT(accused(verdict_of(shape, all)), IsEmpty()) << "a pair is as slow as its slower end";
}

TEST(PairRun, a_node_without_a_measurement_is_unknown_and_not_a_suspect) {
  SimulatedFabric fabric({.nodes = 64, .rails = 2});
  fabric.plant({.kind = Fault::nic, .rail = 0, .one = 20, .loss = 0.4});
  PairRun run = PairRun::create(fabric.known(), {}).value();
  for (auto round = run.next_round(); !round.empty(); round = run.next_round())
    for (PairResult& result : fabric.run(round)) {
      const PairTest& test = round[result.id - round.front().id];
      // Node 3 refuses, and whatever node 50 is in takes too long.
      for (const auto& [node, why] : {std::pair(3U, Missing::refused), std::pair(50U, Missing::timed_out)})
        if (test.source == node || test.destination == node) result = {.id = result.id, .missing = why};
      ASSERT_TRUE(run.take(result));
    }
  const Verdict verdict = run.verdict();
  EXPECT_THAT(accused(verdict), ElementsAre("nic n20 rail 0"));
  ASSERT_EQ(verdict.unmeasured.size(), 4U);
  for (const Unmeasured& one : verdict.unmeasured) {
    EXPECT_TRUE(one.node == 3 || one.node == 50);
    EXPECT_EQ(one.why, one.node == 3 ? Missing::refused : Missing::timed_out);
  }
}

TEST(PairRun, half_of_the_results_are_enough_for_the_right_suspect) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Verdict verdict = verdict_of({.nodes = 128, .rails = 4, .missing = 0.5, .seed = seed},
                                       {{.kind = Fault::node, .one = 70, .loss = 0.3}});
    for (const std::string& one : accused(verdict)) {
      EXPECT_THAT(one, HasSubstr("n70")) << "seed " << seed;
      ++found;
    }
  }
  EXPECT_GE(found, 5U);
}

TEST(PairRun, a_node_that_leaves_is_neither_suspect_nor_partner) {
  SimulatedFabric fabric({.nodes = 64, .rails = 2});
  fabric.plant({.kind = Fault::node, .one = 12, .loss = 0.5});
  fabric.plant({.kind = Fault::node, .one = 30, .loss = 0.5});
  PairRun run = PairRun::create(fabric.known(), {}).value();
  take_round(run, fabric, run.next_round());
  ASSERT_TRUE(run.leave(12));
  for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
    for (const PairTest& test : round)
      EXPECT_TRUE(test.source != 12 && test.destination != 12);
    take_round(run, fabric, round);
  }
  const Verdict verdict = run.verdict();
  EXPECT_THAT(accused(verdict), ElementsAre("node n30"));
  for (const Suspect& suspect : verdict.suspects)
    EXPECT_EQ(std::count(suspect.nodes.begin(), suspect.nodes.end(), 12U), 0);
  EXPECT_EQ(verdict.unmeasured.size(), 2U);
  EXPECT_EQ(run.leave(64).error().code, Errc::not_found);
}

TEST(PairRun, may_end_at_any_moment) {
  SimulatedFabric fabric({.nodes = 64});
  fabric.plant({.kind = Fault::nic, .one = 21, .loss = 0.4});
  PairRun run = PairRun::create(fabric.known(), {}).value();
  EXPECT_THAT(run.verdict().suspects, IsEmpty());
  EXPECT_EQ(run.verdict().unmeasured.size(), 64U);
  take_round(run, fabric, run.next_round());
  // One of two nodes; which one is not known yet.
  const Verdict first = run.verdict();
  ASSERT_EQ(first.suspects.size(), 1U);
  EXPECT_EQ(first.suspects.front().kind, SuspectKind::undecided);
  EXPECT_EQ(first.suspects.front().nodes.size(), 2U);
  EXPECT_LT(first.suspects.front().confidence, 0.5);
  EXPECT_FALSE(first.is_complete);
  take_round(run, fabric, run.next_round());
  EXPECT_THAT(accused(run.verdict()), ElementsAre("nic n21 rail 0"));
}

TEST(PairRun, small_clusters) {
  for (const std::size_t n : {0U, 1U}) {
    PairRun run = PairRun::create(SimulatedFabric({.nodes = n}).known(), {}).value();
    EXPECT_THAT(run.next_round(), IsEmpty());
    EXPECT_THAT(run.verdict().suspects, IsEmpty());
  }
  const Verdict two = verdict_of({.nodes = 2}, {{.one = 0, .loss = 0.5}});
  EXPECT_THAT(two.suspects, IsEmpty()) << "nothing to compare one pair with";
  EXPECT_EQ(two.cells.size(), 1U);
  EXPECT_THAT(accused(verdict_of({.nodes = 3}, {{.one = 0, .loss = 0.5}})), ElementsAre("nic n0 rail 0"));
  EXPECT_THAT(accused(verdict_of({.nodes = 4}, {{.one = 3, .loss = 0.5}})), ElementsAre("nic n3 rail 0"));
  for (const std::size_t n : {5U, 6U, 7U, 9U})
    EXPECT_THAT(accused(verdict_of({.nodes = n}, {{.one = 4, .loss = 0.5}})), ElementsAre("nic n4 rail 0"))
        << n;
  for (std::size_t n = 3; n < 12; ++n)
    EXPECT_THAT(accused(verdict_of({.nodes = n}, {})), IsEmpty()) << n;
}

TEST(PairRun, where_half_of_a_few_nodes_are_slow_it_is_undecided_and_not_healthy) {
  for (const bool knows_leaves : {true, false})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Shape shape{.nodes = 4, .knows_leaves = knows_leaves, .seed = seed};
      const Verdict verdict = verdict_by_one_flow(shape, {0, 1}, 0.5);
      EXPECT_THAT(accused(verdict), IsEmpty());
      ASSERT_FALSE(verdict.suspects.empty());
      EXPECT_NEAR(verdict.suspects.front().loss, 0.5, 0.05);
      EXPECT_THAT(verdict_by_one_flow(shape, {}, 0).suspects, IsEmpty());
    }
  // Every pair has a slow end.
  EXPECT_THAT(verdict_by_one_flow({.nodes = 4}, {0, 1, 2}, 0.5).suspects, IsEmpty());
}

TEST(PairRun, finds_a_slow_node_whatever_is_known_of_the_fabric) {
  const std::vector<Planted> fault{{.kind = Fault::nic, .rail = 1, .one = 16, .loss = 0.3}};
  const std::vector<Shape> shapes{
      {.nodes = 33, .per_leaf = 33, .rails = 2},                         // one leaf, odd
      {.nodes = 33, .per_leaf = 16, .rails = 2},                         // a leaf with one node
      {.nodes = 32, .per_leaf = 1, .rails = 2},                          // only such
      {.nodes = 33, .per_leaf = 64, .rails = 2, .knows_leaves = false},  // no topology
      {.nodes = 33, .per_leaf = 16, .rails = 2, .knows_rates = false},
  };
  for (std::size_t i = 0; i < shapes.size(); ++i)
    EXPECT_THAT(accused(verdict_of(shapes[i], fault)), ElementsAre("nic n16 rail 1")) << "shape " << i;
}

TEST(PairRun, rails_that_only_some_nodes_have) {
  SimulatedFabric fabric({.nodes = 48, .rails = 3});
  fabric.plant({.kind = Fault::nic, .rail = 2, .one = 10, .loss = 0.3});
  std::vector<FabricNode> nodes = fabric.known().nodes();
  for (NodeNumber node = 0; node < nodes.size(); ++node)
    if (node % 2 == 1) nodes[node].nics.pop_back();
  nodes[5].nics.clear();
  PairRun run = PairRun::create(Fabric::create(nodes).value(), {}).value();
  for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
    for (const PairTest& test : round) {
      EXPECT_NE(run.fabric().nic(test.rail, test.source), nullptr);
      EXPECT_NE(run.fabric().nic(test.rail, test.destination), nullptr);
    }
    take_round(run, fabric, round);
  }
  EXPECT_THAT(accused(run.verdict()), ElementsAre("nic n10 rail 2"));
  EXPECT_THAT(run.verdict().unmeasured, IsEmpty());
}

TEST(PairRun, noisy_pairs_get_more_samples) {
  const auto samples_of_second_round = [](double noise) {
    SimulatedFabric fabric({.nodes = 64, .noise = noise});
    fabric.plant({.one = 7, .loss = 0.5});
    PairRun run = PairRun::create(fabric.known(), {}).value();
    take_round(run, fabric, run.next_round());
    for (const PairTest& test : run.next_round())
      if (test.source == 7 || test.destination == 7) return test.flows.size();
    return std::size_t{0};
  };
  EXPECT_EQ(samples_of_second_round(0.005), 6U);
  EXPECT_GT(samples_of_second_round(0.03), 10U);
  EXPECT_LE(samples_of_second_round(0.3), PairSettings{}.most_samples);
}

TEST(PairRun, beside_jobs_a_test_takes_a_share_of_the_line_rate) {
  const PairSettings settings{.share_of_line_rate = 0.1};
  SimulatedFabric fabric({.nodes = 32});
  fabric.plant({.one = 4, .loss = 0.95});
  PairRun run = PairRun::create(fabric.known(), settings).value();
  for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
    for (const PairTest& test : round)
      EXPECT_EQ(test.most, 0.1 * fabric.shape().line_rate);
    take_round(run, fabric, round);
  }
  EXPECT_THAT(accused(run.verdict()), ElementsAre("nic n4 rail 0"));
  const Fabric unknown = SimulatedFabric({.knows_rates = false}).known();
  EXPECT_EQ(PairRun::create(unknown, settings).error().code, Errc::malformed);
}

TEST(PairRun, results_may_come_in_any_order_and_give_the_same_verdict) {
  const auto sentences = [](bool is_reversed) {
    SimulatedFabric fabric({.nodes = 96, .rails = 2, .seed = 4});
    fabric.plant({.kind = Fault::node, .one = 50, .loss = 0.2});
    fabric.plant({.kind = Fault::uplinks, .rail = 1, .one = 2, .loss = 0.6});
    PairRun run = PairRun::create(fabric.known(), {}).value();
    for (auto round = run.next_round(); !round.empty(); round = run.next_round()) {
      std::vector<PairResult> results = fabric.run(round);
      if (is_reversed) std::reverse(results.begin(), results.end());
      for (PairResult& result : results)
        EXPECT_TRUE(run.take(std::move(result)));
    }
    std::vector<std::string> list;
    for (const Suspect& suspect : run.verdict().suspects)
      list.push_back(suspect.sentence);
    return list;
  };
  const std::vector<std::string> one = sentences(false);
  EXPECT_GE(one.size(), 2U);
  EXPECT_EQ(one, sentences(true));
}

TEST(PairRun, refuses_results_that_are_none) {
  PairRun run = PairRun::create(SimulatedFabric({.nodes = 4}).known(), {}).value();
  const std::vector<PairTest> round = run.next_round();
  ASSERT_EQ(round.size(), 2U);
  const auto code = [&](PairResult result) { return run.take(std::move(result)).error().code; };
  for (const double value :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(code({.id = 0, .forward = {1e9, value}}), Errc::malformed) << value;
  EXPECT_EQ(code({.id = 0}), Errc::malformed);
  EXPECT_EQ(code({.id = 0, .forward = {1e9}, .missing = Missing::refused}), Errc::malformed);
  EXPECT_EQ(code({.id = 0, .backward = {1, 1, 1, 1}}), Errc::malformed);
  EXPECT_EQ(code({.id = 2, .forward = {1e9}}), Errc::not_found);
  EXPECT_TRUE(run.take({.id = 0, .forward = {1e9}}));
  EXPECT_EQ(code({.id = 0, .forward = {1e9}}), Errc::conflict);
}

TEST(PairRun, refuses_settings_that_make_no_sense) {
  const Fabric fabric = SimulatedFabric({.nodes = 4}).known();
  for (const PairSettings& settings :
       {PairSettings{.samples = 0}, PairSettings{.samples = 17}, PairSettings{.cross_flows = 0},
        PairSettings{.most_rounds = 0}, PairSettings{.least_loss = 0}, PairSettings{.false_accusations = 2},
        PairSettings{.share_of_line_rate = -1}, PairSettings{.most_samples = 2000}})
    EXPECT_EQ(PairRun::create(fabric, settings).error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::nettest
