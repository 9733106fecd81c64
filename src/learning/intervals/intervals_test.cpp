// SPDX-License-Identifier: Apache-2.0
#include "learning/intervals/intervals.hpp"

#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

TEST(CountIntervals, no_event_follows_the_rule_of_three) {
  EXPECT_EQ(count_bounds(0).low, 0);
  EXPECT_NEAR(count_bounds(0).high, 2.9957, 1e-4);
  EXPECT_NEAR(rule_of_three(300), 0.00999, 1e-5);
  EXPECT_EQ(rule_of_three(0), 1);
}

TEST(CountIntervals, events_have_the_exact_bounds) {
  EXPECT_EQ(count_bounds(10).low, poisson_bounds(10).low);
  EXPECT_EQ(count_bounds(10).high, poisson_bounds(10).high);
}

}  // namespace
}  // namespace autopilot::learning
