// SPDX-License-Identifier: Apache-2.0
#include "jobs/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>

namespace autopilot::jobs::membership_test {
namespace {

using testing::ElementsAre;

JobRecord two_nodes() {
  JobRecord job;
  job.job = "a";
  for (int rank = 0; rank < 4; ++rank)
    job.ranks.push_back({.rank = 3 - rank, .node = rank < 2 ? "n1" : "n2", .gpu = rank % 2});
  return job;
}

TEST(Membership, finds_ranks_by_number_and_by_place) {
  Fleet fleet(10);
  const Membership members(fleet, two_nodes());
  EXPECT_EQ(members.nodes().size(), 2U);
  ASSERT_NE(members.find(3), nullptr);
  EXPECT_EQ(fleet.node(members.find(3)->node).record.node, "n1");
  EXPECT_EQ(members.find(4), nullptr);
  EXPECT_THAT(members.ranks_on(fleet.number_of("n2").value()), ElementsAre(0, 1));
  EXPECT_THAT(members.ranks_on(fleet.number_of("n2").value(), 1), ElementsAre(0));
}

TEST(Membership, a_node_counts_its_jobs) {
  Fleet fleet(10);
  auto first = std::make_unique<Membership>(fleet, two_nodes());
  const Membership second(fleet, two_nodes());
  EXPECT_EQ(fleet.node(0).jobs.size(), 2U);
  first.reset();
  EXPECT_EQ(fleet.node(0).jobs.size(), 1U);
}

TEST(Membership, ranks_beyond_the_limit_of_nodes_are_counted) {
  Fleet fleet(1);
  const Membership members(fleet, two_nodes());
  EXPECT_EQ(members.members().size(), 2U);
  EXPECT_EQ(members.left_out(), 2U);
}

TEST(Fleet, a_node_without_windows_is_silent) {
  Fleet fleet(10);
  const auto node = fleet.number_of("n1").value();
  constexpr WallTime kNow{std::chrono::hours(500000)};
  EXPECT_TRUE(fleet.is_silent(node, kNow));
  fleet.add({.time = kNow, .length = std::chrono::seconds(10), .node = "n1"});
  EXPECT_FALSE(fleet.is_silent(node, kNow + std::chrono::seconds(30)));
  EXPECT_TRUE(fleet.is_silent(node, kNow + std::chrono::seconds(31)));
}

}  // namespace
}  // namespace autopilot::jobs::membership_test
