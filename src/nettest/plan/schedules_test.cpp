// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/schedules.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <utility>

namespace autopilot::nettest {
namespace {

using NodePairs = std::set<std::pair<NodeNumber, NodeNumber>>;

constexpr std::size_t kTargets = 16;

TEST(Circle, every_pair_meets_once_and_no_node_twice_in_a_round) {
  for (const std::size_t n : {2U, 3U, 4U, 5U, 7U, 8U, 31U, 64U, 101U}) {
    NodePairs met;
    for (std::size_t round = 0; round < circle_rounds(n); ++round) {
      std::size_t resting = 0;
      for (NodeNumber node = 0; node < n; ++node) {
        const std::optional<NodeNumber> partner = circle_partner(n, round, node);
        if (!partner) {
          ++resting;
          continue;
        }
        ASSERT_LT(*partner, n);
        ASSERT_NE(*partner, node);
        ASSERT_EQ(circle_partner(n, round, *partner), node) << "n " << n << ", round " << round;
        if (node < *partner) {
          ASSERT_TRUE(met.emplace(node, *partner).second) << "n " << n << ", round " << round;
        }
      }
      EXPECT_EQ(resting, n % 2);
    }
    EXPECT_EQ(met.size(), n * (n - 1) / 2);
  }
}

TEST(Circle, without_a_pair_there_is_no_partner) {
  EXPECT_EQ(circle_rounds(0), 0U);
  EXPECT_EQ(circle_rounds(1), 0U);
  EXPECT_EQ(circle_partner(1, 0, 0), std::nullopt);
}

TEST(Ring, every_ordered_pair_once_and_in_a_round_each_sends_and_receives_once) {
  for (const std::size_t n : {2U, 3U, 8U, 33U}) {
    NodePairs sent;
    for (std::size_t round = 0; round < ring_rounds(n); ++round) {
      std::set<NodeNumber> receivers;
      for (NodeNumber source = 0; source < n; ++source) {
        const NodeNumber destination = ring_destination(n, round, source);
        ASSERT_NE(destination, source);
        ASSERT_TRUE(sent.emplace(source, destination).second);
        receivers.insert(destination);
      }
      EXPECT_EQ(receivers.size(), n);
    }
    EXPECT_EQ(sent.size(), n * (n - 1));
  }
  EXPECT_EQ(ring_rounds(0), 0U);
  EXPECT_EQ(ring_rounds(1), 0U);
}

TEST(ContactRounds, after_a_cycle_every_node_has_asked_every_other) {
  for (const std::size_t n : {2U, 3U, 10U, 65U, 200U}) {
    const ContactRounds rounds(n, kTargets, 7);
    for (const RailNumber rail : {0U, 3U}) {
      NodePairs asked;
      for (std::size_t round = 5; round < 5 + rounds.cycle(); ++round)
        for (NodeNumber node = 0; node < n; ++node)
          for (const NodeNumber target : rounds.targets(node, round, rail)) {
            ASSERT_NE(target, node);
            asked.emplace(node, target);
          }
      EXPECT_EQ(asked.size(), n * (n - 1)) << "n " << n << ", rail " << rail;
    }
  }
}

TEST(ContactRounds, a_dead_node_is_asked_by_as_many_in_every_round) {
  const std::size_t n = 300;
  const std::size_t targets = 6;
  const ContactRounds rounds(n, targets, 11);
  for (std::size_t round = 0; round < 2 * rounds.cycle(); ++round) {
    std::map<NodeNumber, std::set<NodeNumber>> asked_by;
    for (NodeNumber node = 0; node < n; ++node)
      for (const NodeNumber target : rounds.targets(node, round))
        asked_by[target].insert(node);
    ASSERT_EQ(asked_by.size(), n);
    for (const auto& [node, askers] : asked_by)
      ASSERT_EQ(askers.size(), targets) << "node " << node << ", round " << round;
  }
}

TEST(ContactRounds, ten_thousand_nodes_ask_so_many_each_and_no_more) {
  const std::size_t n = 10'000;
  const ContactRounds rounds(n, kTargets, 1);
  std::size_t questions = 0;
  for (NodeNumber node = 0; node < n; ++node)
    questions += rounds.targets(node, 0).size();
  EXPECT_EQ(questions, n * kTargets);
  EXPECT_EQ(rounds.cycle(), (n - 1 + kTargets - 1) / kTargets);
}

// Dead nodes: one in a hundred anywhere, and two racks with consecutive numbers; they send no requests.
TEST(ContactRounds, of_ten_thousand_nodes_every_dead_one_is_noticed_by_several_in_each_round) {
  const std::size_t n = 10'000;
  const ContactRounds rounds(n, kTargets, 1);
  std::mt19937 random(5);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
  std::set<NodeNumber> dead;
  for (NodeNumber node = 4000; node < 4064; ++node)
    dead.insert(node);
  while (dead.size() < 64 + n / 100)
    dead.insert(static_cast<NodeNumber>(random() % n));
  for (std::size_t round = 0; round < 10; ++round) {
    std::map<NodeNumber, std::size_t> noticed;
    for (NodeNumber node = 0; node < n; ++node)
      if (!dead.contains(node))
        for (const NodeNumber target : rounds.targets(node, round))
          if (dead.contains(target)) ++noticed[target];
    ASSERT_EQ(noticed.size(), dead.size()) << "round " << round;
    for (const auto& [node, times] : noticed)
      EXPECT_GE(times, kTargets / 2) << "node " << node << ", round " << round;
  }
}

// The second largest eigenvalue of the graph of one round, as a share of the largest: below 1 no group of
// nodes is cut off from the rest, and the further below, the more requests leave every group.
TEST(ContactRounds, in_every_round_no_group_asks_only_itself) {
  const std::size_t n = 10'000;
  const ContactRounds rounds(n, kTargets, 1);
  for (std::size_t round = 0; round < 5; ++round) {
    const std::vector<NodeNumber> distances = rounds.targets(0, round);
    double largest = 0;
    for (std::size_t wave = 1; wave < n; ++wave) {
      double sum = 0;
      for (const NodeNumber distance : distances)
        sum += std::cos(2 * std::numbers::pi * static_cast<double>(wave * distance % n) /
                        static_cast<double>(n));
      largest = std::max(largest, sum / static_cast<double>(distances.size()));
    }
    EXPECT_LT(largest, 0.95) << "round " << round;
  }
}

TEST(ContactRounds, rails_ask_others_in_one_round) {
  const ContactRounds rounds(500, 9, 3);
  const std::vector<NodeNumber> one = rounds.targets(17, 4, 0);
  const std::vector<NodeNumber> other = rounds.targets(17, 4, 1);
  for (const NodeNumber target : one)
    EXPECT_EQ(std::count(other.begin(), other.end(), target), 0);
}

TEST(ContactRounds, small_clusters_ask_all_and_a_lone_node_asks_none) {
  EXPECT_EQ(ContactRounds(64, 100, 1).targets(3, 0).size(), 63U);
  EXPECT_TRUE(ContactRounds(1, 4, 1).targets(0, 9).empty());
  EXPECT_EQ(ContactRounds(1, 4, 1).cycle(), 0U);
  EXPECT_EQ(ContactRounds(0, 4, 1).cycle(), 0U);
}

}  // namespace
}  // namespace autopilot::nettest
