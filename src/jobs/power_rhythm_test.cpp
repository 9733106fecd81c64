// SPDX-License-Identifier: Apache-2.0
#include "jobs/power_rhythm.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace autopilot::jobs::power_rhythm_test {
namespace {

constexpr WallTime kStart{std::chrono::hours(500000)};

FastPower step_power(int second, double period) {
  FastPower power{{0}, {}};
  for (int at = second; at < second + 10; ++at)
    power.power_w.push_back(std::fmod(at, period) < period * 0.7 ? 620.0F : 260.0F);
  return power;
}

std::optional<Rhythm> after(int minutes, int nodes, double period) {
  PowerRhythm rhythm;
  std::optional<Rhythm> found;
  for (int second = 0; second < 60 * minutes; second += 10) {
    for (int node = 0; node < nodes; ++node)
      rhythm.add(kStart + std::chrono::seconds(second + 10), step_power(second, period));
    if (second % 60 == 50) found = rhythm.evaluate(kStart + std::chrono::seconds(second + 10));
  }
  return found;
}

TEST(PowerRhythm, finds_the_period_of_steps) {
  const auto rhythm = after(10, 4, 12);
  ASSERT_TRUE(rhythm.has_value());
  EXPECT_NEAR(rhythm->period_s, 12, 0.5);
}

TEST(PowerRhythm, a_job_without_fast_power_has_no_rhythm) {
  EXPECT_FALSE(after(10, 0, 12).has_value());
}

TEST(PowerRhythm, a_period_of_two_steps_is_that_of_one) {
  EXPECT_DOUBLE_EQ(fold_period(24.2, 12), 12.1);
  EXPECT_DOUBLE_EQ(fold_period(6, 12), 12);
  EXPECT_DOUBLE_EQ(fold_period(14.4, 12), 14.4);
}

TEST(PowerRhythm, a_gap_in_time_is_bounded) {
  PowerRhythm rhythm;
  rhythm.add(kStart, step_power(0, 12));
  EXPECT_FALSE(rhythm.evaluate(kStart).has_value());
  EXPECT_FALSE(rhythm.evaluate(kStart + std::chrono::hours(24 * 365)).has_value());
}

}  // namespace
}  // namespace autopilot::jobs::power_rhythm_test
