// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/ping_targets.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace autopilot::nettest {
namespace {

std::vector<fleet::Peer> agents(std::size_t count) {
  std::vector<fleet::Peer> peers;
  for (std::size_t i = 0; i < count; ++i)
    peers.push_back({"node-" + std::to_string(10000 + i), "10.0.0.1", 3333});
  return peers;
}

std::set<std::string> names(const std::vector<fleet::Peer>& peers) {
  std::set<std::string> found;
  for (const fleet::Peer& peer : peers)
    found.insert(peer.node);
  return found;
}

TEST(PingTargets, a_node_alone_asks_nobody) {
  EXPECT_TRUE(peers_to_ping(agents(1), "node-10000", {}).empty());
  EXPECT_TRUE(peers_to_ping({}, "node-10000", {}).empty());
}

TEST(PingTargets, few_nodes_ask_all_others_in_each_round) {
  for (const std::uint64_t round : std::vector<std::uint64_t>{0, 1, 1000000}) {
    const auto found = names(peers_to_ping(agents(64), "node-10007", {.round = round}));
    EXPECT_EQ(found.size(), 63U);
    EXPECT_FALSE(found.contains("node-10007"));
  }
}

TEST(PingTargets, of_many_nodes_each_is_asked_by_as_many_in_each_round) {
  const auto all = agents(200);
  std::map<std::string, int> asked;
  for (const fleet::Peer& peer : all)
    for (const fleet::Peer& target : peers_to_ping(all, peer.node, {.round = 77}))
      ++asked[target.node];
  ASSERT_EQ(asked.size(), 200U);
  for (const auto& [node, times] : asked)
    EXPECT_EQ(times, 16) << node;
}

TEST(PingTargets, all_pairs_meet_in_turn) {
  const auto all = agents(200);
  std::set<std::string> met;
  for (std::uint64_t round = 5000; round < 5000 + (199 + 15) / 16; ++round)
    met.merge(names(peers_to_ping(all, "node-10100", {.round = round})));
  EXPECT_EQ(met.size(), 199U);
}

TEST(PingTargets, the_order_in_which_agents_are_listed_changes_nothing) {
  auto all = agents(100);
  const auto one = names(peers_to_ping(all, "node-10050", {.round = 3}));
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(names(peers_to_ping(all, "node-10050", {.round = 3})), one);
}

TEST(PingTargets, odd_nodes_are_asked_again_and_those_that_left_are_not) {
  const auto all = agents(100);
  const auto usual = names(peers_to_ping(all, "node-10000", {.round = 1}));
  std::string other;
  for (const fleet::Peer& peer : all)
    if (!usual.contains(peer.node) && peer.node != "node-10000") other = peer.node;
  const auto found =
      names(peers_to_ping(all, "node-10000", {.round = 1, .again = {other, "node-gone", "node-10000"}}));
  EXPECT_EQ(found.size(), usual.size() + 1);
  EXPECT_TRUE(found.contains(other));
}

TEST(PingTargets, all_are_asked_where_that_is_wanted) {
  EXPECT_EQ(peers_to_ping(agents(1000), "node-10000", {.asks_all = true}).size(), 999U);
}

// An agent that nobody lists yet asks all: it has no place in the order.
TEST(PingTargets, an_agent_that_is_not_listed_asks_all) {
  EXPECT_EQ(peers_to_ping(agents(70), "node-new", {}).size(), 70U);
}

}  // namespace
}  // namespace autopilot::nettest
