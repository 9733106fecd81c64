// SPDX-License-Identifier: Apache-2.0
// Pair tests on fabrics that do not exist: how many of the planted faults are named, how many that are named
// are innocent, in how many rounds. tests/bench/pairs_bench.cpp prints the same for more and larger ones.
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/nettest/simulated_score.hpp"

namespace autopilot::nettest::simulation {

namespace {

// For the messages of failed tests.
std::string text_of(const Score& score) {
  std::ostringstream text;
  text << score.found << " of " << score.planted << " found, " << score.right << " of the right kind, "
       << score.wrong << " of " << score.accused << " accused wrongly, " << score.undecided << " undecided, "
       << score.most_rounds << " rounds";
  return text.str();
}

Score score_of_runs(Shape shape, Fault kind, std::size_t count, double loss, std::size_t runs,
                    const PairSettings& settings = {}) {
  Score score;
  for (std::size_t seed = 1; seed <= runs; ++seed) {
    shape.seed = seed;
    score += score_of_run(shape, kind, count, loss, settings);
  }
  return score;
}

// What three samples of a pair leave of the noise.
double five_deviations(double noise) {
  return 5 * noise * error_of_median(PairSettings{}.samples);
}

TEST(Simulation, an_eighth_of_the_nodes_is_bad) {
  for (const double noise : {0.01, 0.02, 0.03})
    for (const double loss : {five_deviations(noise), 0.2, 0.5}) {
      const Score score =
          score_of_runs({.nodes = 256, .per_leaf = 32, .rails = 2, .noise = noise}, Fault::node, 32, loss, 4);
      EXPECT_GE(score.recall(), 0.98) << "noise " << noise << ", loss " << loss << ": " << text_of(score);
      EXPECT_GE(score.precision(), 0.98) << "noise " << noise << ", loss " << loss << ": " << text_of(score);
      EXPECT_LE(score.most_rounds, 3U);
    }
}

TEST(Simulation, nics_and_their_directions) {
  for (const Fault kind : {Fault::nic, Fault::nic_sends, Fault::nic_receives})
    for (const double loss : {five_deviations(0.02), 0.3}) {
      const Score score = score_of_runs({.nodes = 256, .per_leaf = 32, .rails = 4}, kind, 32, loss, 4);
      EXPECT_GE(score.recall(), 0.98)
          << "kind " << static_cast<int>(kind) << ", loss " << loss << ": " << text_of(score);
      EXPECT_GE(score.precision(), 0.98) << text_of(score);
      EXPECT_GE(score.told_apart(), 0.95) << text_of(score);
    }
}

TEST(Simulation, links_are_distinguished_from_nodes) {
  for (const double loss : {five_deviations(0.02), 0.3}) {
    const Score score = score_of_runs({.nodes = 256, .per_leaf = 32, .rails = 2}, Fault::link, 8, loss, 8);
    EXPECT_GE(score.recall(), 0.98) << text_of(score);
    EXPECT_GE(score.precision(), 0.98) << text_of(score);
    EXPECT_GE(score.told_apart(), 0.95) << text_of(score);
  }
}

TEST(Simulation, uplinks_and_spines) {
  for (const std::size_t oversubscription : {1U, 4U})
    for (const Fault kind : {Fault::uplink, Fault::uplinks, Fault::spine}) {
      const std::size_t runs = kind == Fault::uplink && oversubscription == 1 ? 60 : 6;
      const Score score = score_of_runs({.nodes = 512, .per_leaf = 32, .oversubscription = oversubscription},
                                        kind, 1, 0.5, runs);
      EXPECT_GE(score.recall(), 0.98) << "kind " << static_cast<int>(kind) << ": " << text_of(score);
      EXPECT_GE(score.precision(), 0.98) << "kind " << static_cast<int>(kind) << ": " << text_of(score);
      EXPECT_GE(score.told_apart(), 0.95) << "kind " << static_cast<int>(kind) << ": " << text_of(score);
    }
}

TEST(Simulation, slow_uplinks_of_a_leaf_are_found_by_one_flow_of_each_pair) {
  for (const std::size_t per_leaf : {4U, 16U})
    for (const double loss : {0.3, 0.5}) {
      const Shape shape{.nodes = 4 * per_leaf,
                        .per_leaf = per_leaf,
                        .do_flows_meet = false,
                        .knows_rates = false,
                        .knows_uplinks = false};
      const Score score = score_of_runs(shape, Fault::uplinks, 1, loss, 100, one_flow());
      EXPECT_GE(score.recall(), 0.98) << per_leaf << " nodes, loss " << loss << ": " << text_of(score);
      EXPECT_GE(score.precision(), 0.98) << per_leaf << " nodes, loss " << loss << ": " << text_of(score);
      EXPECT_GE(score.told_apart(), 0.95) << per_leaf << " nodes, loss " << loss << ": " << text_of(score);
    }
}

TEST(Simulation, single_flows_that_meet_by_chance_make_no_suspect) {
  for (const std::size_t oversubscription : {1U, 2U, 4U})
    for (const std::size_t per_leaf : {4U, 16U, 32U}) {
      const Shape shape{.nodes = 8 * per_leaf,
                        .per_leaf = per_leaf,
                        .oversubscription = oversubscription,
                        .do_ports_change = true,
                        .knows_rates = false,
                        .knows_uplinks = false};
      const Score score = score_of_runs(shape, Fault::node, 0, 0, 100, one_flow());
      EXPECT_EQ(score.accused, 0U) << per_leaf << " nodes, " << oversubscription << ":1: " << text_of(score);
    }
}

// For one_flow(). Between leaves, the usual rate is 1 / oversubscription of the rate within a leaf.
Shape shape_by_one_flow(std::size_t per_leaf, std::size_t oversubscription, double noise) {
  return {.nodes = per_leaf * (per_leaf <= 4 ? 8U : 4U),
          .per_leaf = per_leaf,
          .noise = noise,
          .across = 1 / static_cast<double>(oversubscription),
          .do_flows_meet = false,
          .do_ports_change = true,
          .knows_rates = false,
          .knows_uplinks = false};
}

struct OneFlowCase {
  std::size_t per_leaf = 0;
  std::size_t oversubscription = 0;
  double noise = 0;
  double loss = 0;
};

std::vector<OneFlowCase> one_flow_cases() {
  std::vector<OneFlowCase> cases;
  for (const std::size_t per_leaf : {2U, 3U, 4U, 8U, 16U})
    for (const std::size_t oversubscription : {1U, 2U, 4U})
      for (const double noise : {0.01, 0.02, 0.03})
        for (const double loss : {0.3, 0.5})
          cases.push_back({per_leaf, oversubscription, noise, loss});
  return cases;
}

std::string text_of(const OneFlowCase& one) {
  std::ostringstream text;
  text << one.per_leaf << " nodes per leaf, " << one.oversubscription << ":1, noise " << one.noise
       << ", loss " << one.loss;
  return text.str();
}

TEST(Simulation, by_one_flow_of_each_pair_only_slow_nics_are_accused) {
  for (const OneFlowCase& one : one_flow_cases())
    for (const std::size_t count : {1U, 2U}) {
      const Shape shape = shape_by_one_flow(one.per_leaf, one.oversubscription, one.noise);
      const Score score = score_of_runs(shape, Fault::nic, count, one.loss, 20, one_flow());
      const std::string what = text_of(one) + ", " + std::to_string(count) + " slow: " + text_of(score);
      EXPECT_EQ(score.wrong, 0U) << what;
      // Under a leaf of two, tests cannot distinguish a slow NIC from its neighbour; under a leaf of three,
      // if two are slow.
      const bool are_enough = one.oversubscription == 1 || one.per_leaf > 3;
      if (are_enough) {
        EXPECT_GE(score.recall(), 0.95) << what;
      } else {
        EXPECT_GE(score.found + score.undecided, score.planted - score.runs / 5) << what;
      }
      EXPECT_EQ(score.right, score.found) << what;
    }
}

TEST(Simulation, by_one_flow_of_each_pair_only_a_slow_leaf_is_accused) {
  for (const OneFlowCase& one : one_flow_cases()) {
    const Shape shape = shape_by_one_flow(one.per_leaf, one.oversubscription, one.noise);
    const Score score = score_of_runs(shape, Fault::leaf, 1, one.loss, 20, one_flow());
    const std::string what = text_of(one) + ": " + text_of(score);
    EXPECT_EQ(score.wrong, 0U) << what;
    // Two or three slow NICs are not evidence against a leaf.
    if (one.per_leaf < 4) continue;
    EXPECT_GE(score.recall(), 0.95) << what;
    EXPECT_EQ(score.right, score.found) << what;
  }
}

TEST(Simulation, if_single_flows_meet_only_slow_nics_are_accused) {
  for (const std::size_t per_leaf : {2U, 3U, 8U, 16U})
    for (const std::size_t oversubscription : {1U, 2U, 4U})
      for (const std::size_t count : {1U, 2U, 4U}) {
        Shape shape = shape_by_one_flow(per_leaf, 1, 0.02);
        shape.oversubscription = oversubscription;
        shape.do_flows_meet = true;
        const Score score = score_of_runs(shape, Fault::nic, count, 0.5, 50, one_flow());
        const std::string what = std::to_string(per_leaf) + " nodes per leaf, " +
                                 std::to_string(oversubscription) + ":1, " + std::to_string(count) +
                                 " slow: " + text_of(score);
        // With two or three nodes per leaf, few pairs show whether flows meet.
        EXPECT_LE(score.wrong, per_leaf > 4 ? 0U : 1U) << what;
        if (per_leaf > 4) {
          EXPECT_GE(score.recall(), 0.98) << what;
        }
      }
}

TEST(Simulation, single_flows_that_meet_under_small_leaves_make_no_suspect) {
  for (const std::size_t per_leaf : {2U, 3U}) {
    Shape shape = shape_by_one_flow(per_leaf, 1, 0.02);
    shape.do_flows_meet = true;
    const Score score = score_of_runs(shape, Fault::node, 0, 0, 200, one_flow());
    EXPECT_EQ(score.accused, 0U) << per_leaf << " nodes per leaf: " << text_of(score);
  }
}

TEST(Simulation, by_all_pairs_only_slow_nics_are_accused) {
  PairSettings settings = one_flow();
  settings.all_pairs = true;
  for (const bool do_flows_meet : {false, true})
    for (const std::size_t oversubscription : {1U, 4U})
      for (const std::size_t count : {0U, 1U, 2U}) {
        Shape shape = shape_by_one_flow(8, do_flows_meet ? 1 : oversubscription, 0.02);
        shape.oversubscription = oversubscription;
        shape.do_flows_meet = do_flows_meet;
        const Score score = score_of_runs(shape, Fault::nic, count, 0.5, 50, settings);
        const std::string what =
            std::to_string(oversubscription) + ":1, " + std::to_string(count) + " slow: " + text_of(score);
        EXPECT_EQ(score.wrong, 0U) << what;
        EXPECT_GE(score.recall(), 0.98) << what;
      }
  for (const std::size_t per_leaf : {2U, 4U, 8U}) {
    Shape shape = shape_by_one_flow(per_leaf, 2, 0.02);
    shape.knows_leaves = false;
    const Score score = score_of_runs(shape, Fault::node, 0, 0, 50, settings);
    EXPECT_EQ(score.accused, 0U) << per_leaf << " nodes per unnamed leaf: " << text_of(score);
  }
}

TEST(Simulation, small_faults_are_missed_rather_than_healthy_nodes_accused) {
  const Score score = score_of_runs({.nodes = 512, .per_leaf = 32, .rails = 2}, Fault::node, 16, 0.03, 4);
  EXPECT_GE(score.precision(), 0.98) << text_of(score);
}

TEST(Simulation, healthy_fabrics_have_no_suspect) {
  Score score =
      score_of_runs({.nodes = 512, .per_leaf = 32, .rails = 8, .noise = 0.03}, Fault::node, 0, 0, 2);
  score +=
      score_of_runs({.nodes = 512, .per_leaf = 64, .rails = 2, .oversubscription = 8}, Fault::node, 0, 0, 2);
  EXPECT_EQ(score.accused, 0U) << text_of(score);
}

// Among 8,192 ends a few are far below the median by chance.
TEST(Simulation, where_nics_differ_among_themselves_hardly_any_but_those_far_below_are_accused) {
  std::size_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SimulatedFabric fabric({.nodes = 512, .per_leaf = 32, .rails = 2, .spread = 0.01, .seed = seed});
    for (const Suspect& suspect : run_all(fabric, {}).suspects) {
      if (suspect.kind == SuspectKind::undecided) continue;
      const bool is_slow =
          suspect.nodes.size() == 1 && fabric.left(suspect.rail.value_or(0), suspect.nodes.front()) < 0.975;
      if (!is_slow) ++wrong;
    }
  }
  EXPECT_LE(wrong, 1U);
}

// Nodes under unnamed leaves, with narrower paths between leaves or paths on which flows meet.
std::vector<Shape> shapes_of_hidden_leaves() {
  std::vector<Shape> shapes;
  for (const std::size_t leaves : {2U, 3U, 4U, 8U})
    for (const std::size_t per_leaf : {2U, 4U, 8U, 16U, 32U}) {
      Shape shape{.nodes = leaves * per_leaf,
                  .per_leaf = per_leaf,
                  .do_flows_meet = false,
                  .knows_rates = false,
                  .knows_leaves = false,
                  .knows_uplinks = false};
      for (const double across : {0.25, 0.5, 0.7, 0.82, 0.9}) {
        shape.across = across;
        shapes.push_back(shape);
      }
      shape.across = 1;
      shape.do_flows_meet = true;
      for (const std::size_t oversubscription : {1U, 2U, 4U}) {
        shape.oversubscription = oversubscription;
        shapes.push_back(shape);
      }
    }
  return shapes;
}

TEST(Simulation, unknown_leaves_with_narrow_paths_between_them_make_no_suspect) {
  Score all;
  for (Shape shape : shapes_of_hidden_leaves())
    for (const bool is_one : {true, false}) {
      shape.do_ports_change = is_one;
      const Score score = score_of_runs(shape, Fault::node, 0, 0, 20, is_one ? one_flow() : PairSettings{});
      EXPECT_LE(score.accused, score.runs / 4)
          << shape.nodes << " nodes, " << shape.per_leaf << " per leaf, " << shape.oversubscription
          << ":1, across " << shape.across << (is_one ? ", one flow: " : ": ") << text_of(score);
      all += score;
    }
  EXPECT_LE(all.accused, all.runs / 300) << text_of(all);
}

TEST(Simulation, a_dead_node_under_an_unnamed_leaf_is_always_found) {
  for (const std::size_t per_leaf : {2U, 4U, 16U})
    for (const bool is_one : {true, false}) {
      std::size_t named = 0;
      for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        SimulatedFabric fabric({.nodes = 16,
                                .per_leaf = per_leaf,
                                .across = 0.5,
                                .do_flows_meet = false,
                                .knows_rates = false,
                                .knows_leaves = false,
                                .seed = seed});
        fabric.plant({.kind = Fault::node, .one = 1, .loss = 1});
        bool is_found = false;
        for (const Suspect& suspect : run_all(fabric, is_one ? one_flow() : PairSettings{}).suspects) {
          is_found = is_found || std::ranges::count(suspect.nodes, 1U) > 0;
          named += suspect.kind != SuspectKind::undecided && suspect.nodes == std::vector<NodeNumber>{1};
        }
        EXPECT_TRUE(is_found) << per_leaf << " per leaf, seed " << seed;
      }
      EXPECT_GE(named, 45U) << per_leaf << " per leaf";
    }
}

// `few` of the nodes are under a second leaf; both leaves are unnamed.
Shape nodes_without_leaves(std::size_t nodes, std::size_t few, double across) {
  return {.nodes = nodes,
          .per_leaf = nodes - few,
          .across = across,
          .do_flows_meet = false,
          .knows_rates = false,
          .knows_leaves = false,
          .knows_uplinks = false};
}

TEST(Simulation, a_few_nodes_under_an_unnamed_leaf_of_their_own_are_not_accused) {
  for (const std::size_t few : {2U, 3U, 4U, 8U}) {
    const Shape shape = nodes_without_leaves(32 + few, few, 0.5);
    for (const PairSettings& settings : {one_flow(), PairSettings{.least_loss = 0.1}}) {
      const Score score = score_of_runs(shape, Fault::node, 0, 0, 50, settings);
      EXPECT_EQ(score.accused, 0U) << few << " nodes: " << text_of(score);
    }
  }
}

TEST(Simulation, of_few_nodes_some_under_an_unnamed_leaf_are_not_accused) {
  Score all;
  for (std::size_t nodes = 4; nodes <= 20; ++nodes)
    for (std::size_t few = 2; few <= nodes / 2; ++few)
      for (const double across : {0.25, 0.5, 0.7, 0.82, 0.9})
        for (const bool is_one : {true, false}) {
          Shape shape = nodes_without_leaves(nodes, few, across);
          shape.do_ports_change = is_one;
          all += score_of_runs(shape, Fault::node, 0, 0, 10, is_one ? one_flow() : PairSettings{});
        }
  EXPECT_LE(all.accused, all.runs / 1000) << text_of(all);
}

TEST(Simulation, of_few_nodes_some_under_several_unnamed_leaves_are_rarely_accused) {
  Score all;
  for (const std::vector<std::size_t>& small :
       {std::vector<std::size_t>{2, 2}, {3, 2}, {3, 3}, {2, 2, 2}, {4, 3}})
    for (const std::size_t nodes : {9U, 11U, 12U, 16U, 24U, 31U})
      for (const double across : {0.25, 0.5, 0.8}) {
        Shape shape = nodes_without_leaves(nodes, 0, across);
        shape.small_leaves = small;
        shape.do_ports_change = true;
        all += score_of_runs(shape, Fault::node, 0, 0, 20, one_flow());
      }
  EXPECT_LE(all.accused, all.runs / 50) << text_of(all);
}

TEST(Simulation, a_bad_node_among_few_nodes_under_one_unnamed_leaf_is_found) {
  Score all;
  for (std::size_t nodes = 4; nodes <= 20; ++nodes)
    for (const Fault kind : {Fault::node, Fault::nic_sends})
      for (const double loss : {0.15, 0.3, 0.5, 1.0})
        for (const PairSettings& settings : {one_flow(), PairSettings{}}) {
          const Score score = score_of_runs(nodes_without_leaves(nodes, 0, 1), kind, 1, loss, 20, settings);
          EXPECT_GE(score.recall(), 0.8) << nodes << " nodes, kind " << static_cast<int>(kind) << ", loss "
                                         << loss << ": " << text_of(score);
          all += score;
        }
  EXPECT_GE(all.recall(), 0.975) << text_of(all);
  EXPECT_GE(all.precision(), 0.99) << text_of(all);
}

TEST(Simulation, bad_nodes_are_found_if_leaves_are_unknown_and_do_not_matter) {
  for (const Fault kind : {Fault::node, Fault::nic, Fault::nic_sends, Fault::link})
    for (const std::size_t count : {1U, 8U, 32U})
      for (const double loss : {0.2, 0.5}) {
        if (kind == Fault::link && count > 1) continue;
        const Shape shape{.nodes = 256, .rails = 2, .do_flows_meet = false, .knows_leaves = false};
        for (const PairSettings& settings : {one_flow(), PairSettings{}}) {
          const Score score = score_of_runs(shape, kind, count, loss, 4, settings);
          const std::string what = "kind " + std::to_string(static_cast<int>(kind)) + ", loss " +
                                   std::to_string(loss) + ": " + text_of(score);
          EXPECT_GE(score.recall(), 0.98) << what;
          EXPECT_GE(score.precision(), 0.98) << what;
          EXPECT_LE(score.most_rounds, 3U) << what;
        }
      }
}

TEST(Simulation, with_unknown_leaves_a_run_that_ends_early_names_the_bad_nodes_so_far) {
  PairSettings settings = one_flow();
  settings.most_rounds = 2;
  const Shape shape{.nodes = 64, .do_flows_meet = false, .knows_leaves = false};
  const Score score = score_of_runs(shape, Fault::node, 4, 0.5, 50, settings);
  // Two that met each other first need a third round.
  EXPECT_GE(score.recall(), 0.9) << text_of(score);
  EXPECT_EQ(score.wrong, 0U) << text_of(score);
}

}  // namespace
}  // namespace autopilot::nettest::simulation
