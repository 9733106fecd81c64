// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/return_windows.hpp"

#include <gtest/gtest.h>

#include "tests/support/learning/simulated_fleet.hpp"

namespace autopilot::learning {
namespace {

TEST(ReturnWindows, counts_faults_and_days_within_the_window) {
  const auto fleet = make_fleet_history({{"a", 10, 12.0, {}, false, ""},
                                         {"a", 14, 15.0, {}, false, ""},
                                         {"a", 30, {}, {}, false, ""},
                                         {"b", 20, 21.0, {}, false, ""}},
                                        3, 40);
  const ReturnWindow window = return_window(*fleet, 3, 0, 40, 100, 1);
  EXPECT_EQ(window.episodes, 4U);
  EXPECT_EQ(window.inside, 1U);
  EXPECT_DOUBLE_EQ(window.service_days, 27 + 39 + 40);
  EXPECT_DOUBLE_EQ(window.window_days, 2 + 3 + 3);
  EXPECT_NEAR(window.lift.value, (1.0 / 4) / (8.0 / 106), 1e-12);
  EXPECT_LE(window.lift.low, window.lift.value);
  EXPECT_GE(window.lift.high, window.lift.value);
}

TEST(ReturnWindows, a_return_before_the_judged_part_opens_a_window) {
  const auto fleet =
      make_fleet_history({{"a", 10, 12.0, {}, false, ""}, {"a", 14, 15.0, {}, false, ""}}, 1, 40);
  const ReturnWindow window = return_window(*fleet, 3, 13, 40, 10, 1);
  EXPECT_EQ(window.episodes, 1U);
  EXPECT_EQ(window.inside, 1U);
  EXPECT_DOUBLE_EQ(window.window_days, 1 + 3);
}

TEST(ReturnWindows, the_lift_is_1_where_faults_do_not_follow_returns) {
  const FleetHistory fleet = simulated_fleet({0.01, {}}, {});
  const ReturnWindow window = return_window(fleet, 7, 0, 400, 200, 1);
  EXPECT_LT(window.lift.low, 1.1);
  EXPECT_GT(window.lift.high, 0.9);
  EXPECT_LT(window.lift.value, 1.3);
}

TEST(ReturnWindows, the_same_seed_gives_the_same_interval) {
  const FleetHistory fleet = simulated_fleet({0.003, {{3, 0.4}}}, {});
  const ReturnWindow first = return_window(fleet, 3, 0, 400, 100, 5);
  const ReturnWindow second = return_window(fleet, 3, 0, 400, 100, 5);
  EXPECT_EQ(first.lift.low, second.lift.low);
  EXPECT_EQ(first.lift.high, second.lift.high);
  EXPECT_NE(first.lift.low, return_window(fleet, 3, 0, 400, 100, 6).lift.low);
  EXPECT_GT(first.lift.low, 5);
}

TEST(ReturnWindows, without_a_fault_there_is_no_lift) {
  const auto fleet = make_fleet_history({{"a", 10, 12.0, {}, false, ""}}, 3, 40);
  EXPECT_EQ(return_window(*fleet, 3, 20, 40, 10, 1).lift.value, 0);
}

}  // namespace
}  // namespace autopilot::learning
