// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "nettest/plan/pair_run.hpp"
#include "nettest/plan/readings.hpp"
#include "nettest/plan/schedules.hpp"
#include "tests/support/nettest/simulated_fabric.hpp"
#include "tests/support/nettest/simulated_score.hpp"

// How others find slow nodes by tests of pairs, written from their description, on one rail: what ours is
// measured against.
namespace autopilot::nettest::simulation {

// What each node reached with each of its partners, and how many rounds it took.
struct Reached {
  std::vector<std::vector<double>> of_node;
  std::size_t rounds = 0;

  void take(const std::vector<nettest::PairTest>& tests, const std::vector<nettest::PairResult>& results,
            bool both_ways) {
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const double forward = nettest::median_of(results[i].forward);
      const double value = both_ways ? std::min(forward, nettest::median_of(results[i].backward)) : forward;
      of_node[tests[i].source].push_back(value);
      of_node[tests[i].destination].push_back(value);
    }
    ++rounds;
  }
};

inline nettest::PairTest baseline_test(nettest::NodeNumber source, nettest::NodeNumber destination) {
  nettest::PairTest test;
  test.source = source;
  test.destination = destination;
  test.flows = {0, 1, 2};
  return test;
}

// All ordered pairs, in n - 1 rounds of n tests that run at once.
inline Reached by_ring(SimulatedFabric& fabric) {
  const std::size_t n = fabric.shape().nodes;
  Reached reached{std::vector<std::vector<double>>(n), 0};
  for (std::size_t round = 0; round < nettest::ring_rounds(n); ++round) {
    std::vector<nettest::PairTest> tests;
    for (nettest::NodeNumber source = 0; source < n; ++source)
      tests.push_back(baseline_test(source, nettest::ring_destination(n, round, source)));
    reached.take(tests, fabric.run(tests), false);
  }
  return reached;
}

// All pairs, in rounds without a node in two.
inline Reached by_circle(SimulatedFabric& fabric) {
  const std::size_t n = fabric.shape().nodes;
  Reached reached{std::vector<std::vector<double>>(n), 0};
  for (std::size_t round = 0; round < nettest::circle_rounds(n); ++round) {
    std::vector<nettest::PairTest> tests;
    for (nettest::NodeNumber node = 0; node < n; ++node)
      if (const auto partner = nettest::circle_partner(n, round, node); partner && *partner > node)
        tests.push_back(baseline_test(node, *partner));
    reached.take(tests, fabric.run(tests), true);
  }
  return reached;
}

// Neighbours, then the slowest with the fastest. Of an even number of nodes.
inline Reached by_two_rounds(SimulatedFabric& fabric) {
  const std::size_t n = fabric.shape().nodes;
  Reached reached{std::vector<std::vector<double>>(n), 0};
  std::vector<nettest::PairTest> tests;
  for (nettest::NodeNumber node = 0; node + 1 < n; node += 2)
    tests.push_back(baseline_test(node, node + 1));
  reached.take(tests, fabric.run(tests), true);
  std::vector<nettest::NodeNumber> by_speed(n);
  std::iota(by_speed.begin(), by_speed.end(), nettest::NodeNumber{0});
  std::ranges::stable_sort(by_speed, {},
                           [&](nettest::NodeNumber node) { return reached.of_node[node].front(); });
  tests.clear();
  for (std::size_t i = 0; i < n / 2; ++i)
    tests.push_back(baseline_test(by_speed[i], by_speed[n - 1 - i]));
  reached.take(tests, fabric.run(tests), true);
  return reached;
}

// Nodes below that share of the middle one of all are slow.
inline nettest::Verdict judge_nodes(const Reached& reached, std::vector<double> of_nodes, double cut) {
  const double middle = nettest::median_of(of_nodes);
  nettest::Verdict verdict;
  verdict.rounds = reached.rounds;
  for (nettest::NodeNumber node = 0; node < of_nodes.size(); ++node) {
    if (of_nodes[node] >= cut * middle) continue;
    nettest::Suspect suspect;
    suspect.kind = nettest::SuspectKind::node;
    suspect.nodes = {node};
    verdict.suspects.push_back(std::move(suspect));
  }
  return verdict;
}

// By the middle one of its partners; `cut` of a full table.
inline nettest::Verdict judge_by_middle(const Reached& reached, double cut) {
  std::vector<double> middle;
  for (const std::vector<double>& values : reached.of_node)
    middle.push_back(nettest::median_of(values));
  return judge_nodes(reached, std::move(middle), cut);
}

// Judges by the better round: a node is slow if it takes more than twice the median time.
inline nettest::Verdict judge_by_best(const Reached& reached) {
  std::vector<double> best;
  for (const std::vector<double>& values : reached.of_node)
    best.push_back(std::ranges::max(values));
  return judge_nodes(reached, std::move(best), 0.5);
}

inline nettest::Verdict verdict_by(std::string_view method, SimulatedFabric& fabric) {
  constexpr double kCut = 0.93;
  if (method == "ring") return judge_by_middle(by_ring(fabric), kCut);
  if (method == "circle") return judge_by_middle(by_circle(fabric), kCut);
  return judge_by_best(by_two_rounds(fabric));
}

}  // namespace autopilot::nettest::simulation
