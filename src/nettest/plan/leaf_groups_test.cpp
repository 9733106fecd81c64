// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/leaf_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace autopilot::nettest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using NicPairs = std::vector<std::pair<NicNumber, NicNumber>>;

std::vector<MetPair> met(const NicPairs& fine, const NicPairs& low) {
  std::vector<MetPair> pairs;
  for (const auto& [one, other] : fine)
    pairs.push_back({one, other, false});
  for (const auto& [one, other] : low)
    pairs.push_back({one, other, true});
  return pairs;
}

TEST(LeafGroups, are_bound_by_fine_tests_alone) {
  EXPECT_THAT(
      groups_of(met({{7, 2}, {4, 9}, {9, 2}, {5, 6}}, {{1, 2}, {6, 7}})),
      ElementsAre(Pair(1, 0), Pair(2, 1), Pair(4, 1), Pair(5, 2), Pair(6, 2), Pair(7, 1), Pair(9, 1)));
  EXPECT_THAT(groups_of({}), IsEmpty());
}

TEST(LeafGroups, two_that_did_not_meet_may_be_under_a_leaf_of_their_own) {
  const NicPairs fine{{0, 1}, {1, 2}};
  EXPECT_TRUE(fit_leaves(met(fine, {{0, 3}, {1, 3}, {2, 4}, {0, 4}})));
  // Low with each other as well they are not.
  EXPECT_FALSE(fit_leaves(met(fine, {{0, 3}, {1, 3}, {2, 4}, {0, 4}, {3, 4}})));
}

TEST(LeafGroups, a_nic_that_is_low_with_all_others_is_not_under_a_leaf_with_others) {
  EXPECT_FALSE(fit_leaves(met({{0, 1}, {1, 2}, {2, 3}}, {{0, 4}, {2, 4}})));
  // It is if other NICs are not connected to the rest, and can be under its leaf.
  EXPECT_TRUE(fit_leaves(met({{0, 1}, {1, 2}, {2, 3}, {5, 6}}, {{0, 4}, {2, 4}})));
}

TEST(LeafGroups, a_low_pair_bound_by_fine_tests_is_under_one_leaf) {
  EXPECT_FALSE(fit_leaves(met({{0, 2}, {1, 3}, {2, 3}}, {{0, 1}})));
  EXPECT_TRUE(fit_leaves(met({{0, 2}, {1, 3}}, {{0, 1}})));
}

TEST(LeafGroups, there_may_be_more_than_two_leaves) {
  EXPECT_TRUE(fit_leaves(met({{0, 3}, {1, 4}, {2, 5}}, {{0, 1}, {1, 2}, {2, 0}})));
  EXPECT_FALSE(fit_leaves(met({{0, 3}, {1, 4}}, {{0, 1}, {1, 2}, {2, 0}}))) << "2 is alone below its leaf";
}

TEST(LeafGroups, of_many_there_are_two_leaves_at_most) {
  for (const NicNumber many : {27U, 28U}) {
    NicPairs fine;
    for (NicNumber nic = 1; nic < many; ++nic)
      fine.emplace_back(nic - 1, nic);
    const NicPairs low{{0, 90}, {1, 91}, {2, 92}, {3, 93}, {90, 91}, {92, 93}};
    EXPECT_EQ(fit_leaves(met(fine, low)), many == 27);
  }
}

TEST(LeafGroups, what_takes_too_long_to_rule_out_is_not_ruled_out) {
  NicPairs low;
  for (NicNumber one = 0; one < 20; ++one)
    for (NicNumber other = one + 1; other < 20; ++other)
      if ((one + other) % 3 == 0) low.emplace_back(one, other);
  for (NicNumber nic = 0; nic < 20; ++nic)
    low.emplace_back(nic, 99);
  EXPECT_TRUE(fit_leaves(met({}, low)));
}

TEST(LeafGroups, two_that_are_low_with_each_other_alone_leave_one_leaf_to_one_of_them) {
  EXPECT_FALSE(fit_leaves(met({{0, 1}, {1, 2}}, {{3, 4}})));
  EXPECT_TRUE(fit_leaves(met({{0, 1}, {1, 2}}, {{3, 4}, {5, 6}})));
}

TEST(LeafGroups, a_departed_nic_connects_others_and_does_not_count) {
  const auto pairs = met({{0, 1}, {2, 3}}, {{0, 4}, {1, 4}});
  EXPECT_TRUE(fit_leaves(pairs));
  EXPECT_FALSE(fit_leaves(pairs, met({{1, 9}, {9, 2}}, {})));
  EXPECT_TRUE(fit_leaves(pairs, met({{1, 9}}, {{9, 2}})));
  EXPECT_FALSE(fit_leaves(met({{0, 1}}, {{0, 4}, {1, 4}}), met({{4, 9}}, {}))) << "4 is alone below its leaf";
}

TEST(LeafGroups, where_nothing_is_low_there_is_nothing_to_explain) {
  EXPECT_FALSE(fit_leaves(met({{0, 1}, {2, 3}}, {})));
  EXPECT_FALSE(fit_leaves({}));
}

}  // namespace
}  // namespace autopilot::nettest
