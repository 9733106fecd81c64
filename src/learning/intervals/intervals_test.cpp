// SPDX-License-Identifier: Apache-2.0
#include "learning/intervals/intervals.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

TEST(CountIntervals, no_event_follows_the_rule_of_three) {
  EXPECT_EQ(poisson_bounds(0).low, 0);
  EXPECT_NEAR(poisson_bounds(0).high, 2.9957, 1e-4);
  EXPECT_NEAR(rule_of_three(300), 0.00999, 1e-5);
  EXPECT_EQ(rule_of_three(0), 1);
}

// Exact bounds of the tables for Poisson counts.
TEST(CountIntervals, few_events_have_the_exact_bounds) {
  EXPECT_NEAR(poisson_bounds(1).low, 0.0253, 1e-4);
  EXPECT_NEAR(poisson_bounds(1).high, 5.5716, 1e-4);
  EXPECT_NEAR(poisson_bounds(10).low, 4.7954, 1e-4);
  EXPECT_NEAR(poisson_bounds(10).high, 18.3904, 1e-4);
}

TEST(CountIntervals, many_events_continue_the_exact_bounds) {
  EXPECT_NEAR(poisson_bounds(1001).low - poisson_bounds(1000).low, 1, 0.2);
  EXPECT_NEAR(poisson_bounds(1001).high - poisson_bounds(1000).high, 1, 0.2);
}

TEST(BetaShares, small_counts_agree_with_their_closed_forms) {
  EXPECT_NEAR(beta_below(1, 1, 0.3), 0.3, 1e-12);
  EXPECT_NEAR(beta_below(1, 4, 0.2), 1 - std::pow(0.8, 4), 1e-12);
  EXPECT_NEAR(beta_below(5, 1, 0.9), std::pow(0.9, 5), 1e-12);
  EXPECT_NEAR(beta_quantile(29, 1, 0.05), std::pow(0.05, 1.0 / 29), 1e-9);
}

TEST(BetaShares, large_counts_stay_exact) {
  EXPECT_NEAR(beta_below(5000, 5000, 0.5), 0.5, 1e-9);
  EXPECT_EQ(beta_below(3, 4, 0), 0);
  EXPECT_EQ(beta_below(3, 4, 1), 1);
}

}  // namespace
}  // namespace autopilot::learning
