// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/peer_scores.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace autopilot::jobs {
namespace {

constexpr WallTime kScoresBegin{std::chrono::hours(1000)};

TEST(PeerScores, a_member_at_the_margin_reaches_1_and_unknown_ones_nothing) {
  const PeerRule& rule = *find_peer_rule("sm_clock_low");
  const std::vector<float> values{2000, 2000, 2000, 2000, 1900, 2050, std::nanf("")};
  PeerScratch scratch;
  const std::vector<float> reached = margins_reached(values, rule, scratch);
  EXPECT_NEAR(reached[0], 0, 1e-6);
  EXPECT_NEAR(reached[4], 1, 1e-4);  // 5 % lower
  EXPECT_LT(reached[5], 0);
  EXPECT_TRUE(std::isnan(reached[6]));
  EXPECT_TRUE(std::isnan(margins_reached(std::vector<float>{1, 2}, rule, scratch)[0]));
  EXPECT_TRUE(std::isnan(
      margins_reached(std::vector<float>{0, 0, 0, 0, 1}, *find_peer_rule("ecc_uncorrected"), scratch)[4]));
}

TEST(PeerScores, a_half_hour_has_the_margin_that_its_worst_part_kept_long_enough) {
  const PeerRule& rule = *find_peer_rule("sm_clock_low");  // 8 of 10 minutes
  PeerScores scores;
  for (int minute = 1; minute <= 61; ++minute) {
    const WallTime end = kScoresBegin + minute * std::chrono::minutes(1);
    scores.add({0, 0}, rule, "n1", minute % 10 == 0 ? 5.0F : 0.2F, end);  // a single minute does not count
    scores.add({0, 1}, rule, "n1", minute > 30 ? 0.6F : 0.1F, end);
    scores.add({0, 2}, rule, "n2", std::nanf(""), end);
  }
  const std::vector<PeerScore> taken = scores.take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].signal, "sm_clock_low");
  EXPECT_EQ(taken[0].node, "n1");
  EXPECT_NEAR(taken[0].margins, 0.2, 1e-6);
  EXPECT_NEAR(taken[1].margins, 0.6, 1e-6);
  EXPECT_EQ(taken[1].time, kScoresBegin + std::chrono::hours(1));
  EXPECT_TRUE(scores.take().empty());
}

}  // namespace
}  // namespace autopilot::jobs
