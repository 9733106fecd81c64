// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/rhythm.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace autopilot::jobs {
namespace {

// Mean power of each second of a job that computes at 620 W and communicates at 300 W in each step.
std::vector<float> power_of_steps(double step_s, double communicates, int seconds, double noise_w,
                                  unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, noise_w);
  std::vector<float> power;
  for (int second = 0; second < seconds; ++second) {
    double sum = 0;
    for (int part = 0; part < 50; ++part) {
      const double phase = std::fmod((second + part / 50.0) / step_s, 1.0);
      sum += phase < communicates ? 300 : 620;
    }
    power.push_back(static_cast<float>(sum / 50 + normal(random)));
  }
  return power;
}

TEST(Rhythm, the_period_of_steps_is_found_within_two_per_cent) {
  for (const double step : {2.2, 2.5, 3.4, 4.0, 7.3, 12.0, 25.0, 60.0, 90.0}) {
    const auto rhythm = find_rhythm(power_of_steps(step, 0.3, 300, 15));
    ASSERT_TRUE(rhythm) << step;
    EXPECT_NEAR(rhythm->period_s, step, 0.02 * step);
    EXPECT_GE(rhythm->quality, 0.35);
  }
}

TEST(Rhythm, a_short_dip_is_enough) {
  const auto rhythm = find_rhythm(power_of_steps(10, 0.1, 300, 15));
  ASSERT_TRUE(rhythm);
  EXPECT_NEAR(rhythm->period_s, 10, 0.2);
}

TEST(Rhythm, ten_values_a_second_show_short_steps) {
  std::vector<float> power;
  for (int i = 0; i < 600; ++i)
    power.push_back(std::fmod(i / 10.0 / 0.8, 1.0) < 0.3 ? 300.0F : 620.0F);
  const auto rhythm = find_rhythm(power, 0.1);
  ASSERT_TRUE(rhythm);
  EXPECT_NEAR(rhythm->period_s, 0.8, 0.02);
}

TEST(Rhythm, missing_values_and_a_slow_trend_do_no_harm) {
  std::vector<float> power = power_of_steps(7, 0.3, 300, 15);
  for (std::size_t i = 0; i < power.size(); ++i)
    power[i] += static_cast<float>(i);
  for (std::size_t i = 0; i < power.size(); i += 4)
    power[i] = std::nanf("");
  power[101] = std::numeric_limits<float>::infinity();
  const auto rhythm = find_rhythm(power);
  ASSERT_TRUE(rhythm);
  EXPECT_NEAR(rhythm->period_s, 7, 0.15);
}

TEST(Rhythm, noise_has_no_rhythm) {
  for (const double memory : {0.0, 0.5, 0.9, 0.98}) {
    int found = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
      std::mt19937 random(seed);
      std::normal_distribution<double> normal(0, 20);
      RhythmTracker tracker;
      double noise = 0;
      for (int i = 0; i < 360; ++i) {
        noise = memory * noise + normal(random);
        tracker.add(static_cast<float>(500 + noise));
        if (i >= 299 && i % 30 == 29 && tracker.evaluate()) ++found;
      }
    }
    EXPECT_LE(found, 3) << memory;
  }
}

TEST(Rhythm, without_variation_or_values_there_is_none) {
  EXPECT_FALSE(find_rhythm({}));
  EXPECT_FALSE(find_rhythm(std::vector<float>(300, 500.0F)));
  EXPECT_FALSE(find_rhythm(std::vector<float>(300, std::nanf(""))));
  EXPECT_FALSE(find_rhythm(std::vector<float>(300, std::numeric_limits<float>::infinity())));
  EXPECT_FALSE(find_rhythm(power_of_steps(5, 0.3, 59, 0)));
  EXPECT_FALSE(find_rhythm(power_of_steps(5, 0.3, 300, 0), 0));
  std::vector<float> sparse = power_of_steps(5, 0.3, 300, 0);
  for (std::size_t i = 0; i < sparse.size(); ++i)
    if (i % 2 == 0) sparse[i] = std::nanf("");
  EXPECT_FALSE(find_rhythm(sparse));
}

TEST(Rhythm, a_step_of_two_seconds_or_less_is_not_reported_as_such) {
  const auto rhythm = find_rhythm(power_of_steps(1.0, 0.3, 300, 15));
  EXPECT_FALSE(rhythm);
}

TEST(RhythmTracker, a_period_is_reported_when_three_evaluations_agree) {
  RhythmTracker tracker;
  const std::vector<float> steady = power_of_steps(6, 0.3, 420, 15);
  for (std::size_t i = 0; i < 300; ++i)
    tracker.add(steady[i]);
  EXPECT_FALSE(tracker.evaluate());
  EXPECT_FALSE(tracker.evaluate());
  ASSERT_TRUE(tracker.evaluate());
  for (const float value : power_of_steps(9, 0.3, 300, 15))
    tracker.add(value);
  EXPECT_FALSE(tracker.evaluate()) << "it changed";
  tracker.evaluate();
  const auto changed = tracker.evaluate();
  ASSERT_TRUE(changed);
  EXPECT_NEAR(changed->period_s, 9, 0.2);
  tracker.restart();
  EXPECT_FALSE(tracker.evaluate());
}

}  // namespace
}  // namespace autopilot::jobs
