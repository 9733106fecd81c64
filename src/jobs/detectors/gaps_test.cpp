// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/gaps.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace autopilot::jobs {
namespace {

GapModel steps_of(double step_s, int count, unsigned seed = 1) {
  GapModel model;
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.05);
  for (int i = 0; i < count; ++i)
    model.add(step_s * std::exp(noise(random)));
  return model;
}

TEST(GapSketch, a_quantile_is_accurate_to_one_per_cent) {
  GapSketch sketch;
  for (int i = 1; i <= 1000; ++i)
    sketch.add(0.1 * i);
  EXPECT_NEAR(*sketch.quantile(0.5), 50, 0.6);
  EXPECT_NEAR(*sketch.quantile(0.99), 99, 1.1);
  EXPECT_NEAR(static_cast<double>(sketch.above(90)), 100, 15);
}

TEST(GapSketch, merged_sketches_equal_one_sketch_of_all) {
  GapSketch first, second, all;
  for (int i = 1; i <= 200; ++i) {
    (i % 3 == 0 ? first : second).add(i * 0.7);
    all.add(i * 0.7);
  }
  first.merge(second);
  EXPECT_EQ(first.count(), all.count());
  for (const double q : {0.0, 0.1, 0.5, 0.9, 1.0})
    EXPECT_DOUBLE_EQ(*first.quantile(q), *all.quantile(q));
  first.merge(first);
  EXPECT_EQ(first.count(), 2 * all.count());
}

TEST(GapSketch, memory_is_limited_whatever_is_added) {
  GapSketch sketch;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int i = 0; i < 200000; ++i)
    sketch.add(std::pow(10, exponent(random)));
  EXPECT_LE(sketch.bins(), GapSketch::kMaxBins);
  EXPECT_EQ(sketch.count(), 200000U);
}

TEST(GapSketch, values_that_are_not_durations_are_ignored) {
  GapSketch sketch;
  sketch.add(std::numeric_limits<double>::quiet_NaN());
  sketch.add(std::numeric_limits<double>::infinity());
  sketch.add(0);
  sketch.add(-1);
  EXPECT_EQ(sketch.count(), 0U);
  EXPECT_EQ(sketch.quantile(0.5), std::nullopt);
  EXPECT_EQ(sketch.mean_excess(1), std::nullopt);
}

TEST(GapModel, before_enough_gaps_are_known_the_default_holds_and_no_hang_is_probable) {
  const GapModel none;
  EXPECT_DOUBLE_EQ(none.soft_timeout_s(), 300);
  EXPECT_LT(none.probability(10000), 1e-4);
  const GapModel slow = steps_of(100, 10);
  EXPECT_GT(slow.soft_timeout_s(), 500);
}

TEST(GapModel, ten_regular_gaps_shorten_the_timeout_of_a_job_whose_long_gaps_show) {
  EXPECT_DOUBLE_EQ(steps_of(2, 9).soft_timeout_s(true), 300);
  EXPECT_DOUBLE_EQ(steps_of(2, 10).soft_timeout_s(true), 120);
  EXPECT_DOUBLE_EQ(steps_of(2, 10).soft_timeout_s(), 300);
  EXPECT_GT(steps_of(60, 10).soft_timeout_s(true), 280);
}

TEST(GapModel, a_regular_job_is_suspected_after_a_minute) {
  for (const double step : {0.2, 2.0, 10.0})
    EXPECT_DOUBLE_EQ(steps_of(step, 1000).soft_timeout_s(true), 60);
  const double slow = steps_of(100, 1000).soft_timeout_s();
  EXPECT_GT(slow, 120);
  EXPECT_LT(slow, 200);
}

TEST(GapModel, equal_gaps_give_a_limited_timeout) {
  GapModel model;
  for (int i = 0; i < 100; ++i)
    model.add(50);
  EXPECT_GE(model.soft_timeout_s(true), 60);
  EXPECT_LE(model.soft_timeout_s(true), 80);
}

TEST(GapModel, steps_longer_than_the_cap_are_no_hang) {
  EXPECT_GT(steps_of(900, 100).soft_timeout_s(), 1300);
}

TEST(GapModel, a_job_that_may_have_unknown_checkpoints_has_more_time) {
  GapModel model = steps_of(2, 1000);
  EXPECT_DOUBLE_EQ(model.soft_timeout_s(), 300);
  model.merge(steps_of(2, 3000, 2));
  EXPECT_DOUBLE_EQ(model.soft_timeout_s(), 60) << "two hours without one";
}

// A checkpoint of 150 s once in 2,000 steps.
TEST(GapModel, a_recurring_long_gap_does_not_alarm) {
  GapModel model = steps_of(5, 2000);
  model.add(150);
  EXPECT_GT(model.probability(140), 0.5) << "one long gap is not learned";
  model.merge(steps_of(5, 2000, 2));
  model.add(155);
  EXPECT_LT(model.probability(150), 0.5);
  EXPECT_LT(model.probability(200), 0.5);
  EXPECT_GT(model.probability(300), 0.5);
  EXPECT_GT(model.soft_timeout_s(), 200);
}

TEST(GapModel, probability_rises_with_age) {
  const GapModel model = steps_of(5, 3000);
  double before = 0;
  for (double age = 1; age < 600; age *= 1.1) {
    const double now = model.probability(age);
    EXPECT_GE(now, before - 1e-12);
    before = now;
  }
  EXPECT_GT(before, 0.99);
}

}  // namespace
}  // namespace autopilot::jobs
