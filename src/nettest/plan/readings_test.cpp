// SPDX-License-Identifier: Apache-2.0

#include "nettest/plan/readings.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace autopilot::nettest {

namespace {

// Values of healthy pairs around 100, and a share of low ones.
std::vector<double> values_of(std::size_t count, double low_share, double loss, double noise,
                              std::uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> own(1, noise);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(100 * own(random) *
                     (static_cast<double>(i) < low_share * static_cast<double>(count) ? 1 - loss : 1));
  return values;
}

TEST(Usual, is_not_moved_by_many_low_values) {
  for (const double low_share : {0.0, 0.25, 0.45})
    for (const double loss : {0.1, 0.3, 0.9}) {
      const Usual usual = usual_of(values_of(1000, low_share, loss, 0.02), 0.001);
      EXPECT_NEAR(usual.centre, 100, 0.5) << low_share << " low by " << loss;
      EXPECT_NEAR(usual.spread, 0.02, 0.005) << low_share << " low by " << loss;
    }
}

TEST(Usual, of_four_values_is_not_a_low_one) {
  EXPECT_NEAR(usual_of({50, 51, 100, 101}, 0.01).centre, 100.5, 1);
  EXPECT_NEAR(usual_of({100, 50, 100, 100}, 0.01).centre, 100, 1);
}

TEST(Usual, of_equal_values_has_the_least_spread) {
  const Usual usual = usual_of({10, 10, 10, 10}, 0.01);
  EXPECT_DOUBLE_EQ(usual.centre, 10);
  EXPECT_DOUBLE_EQ(usual.spread, 0.01);
}

TEST(Usual, of_nothing_is_nothing) {
  EXPECT_EQ(usual_of({}, 0.01).count, 0U);
  EXPECT_EQ(usual_of({7}, 0.01).centre, 7);
}

TEST(Statistics, middle_of_samples) {
  EXPECT_EQ(median_of(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median_of(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({}), 0);
  EXPECT_DOUBLE_EQ(error_of_median(1), 1);
  EXPECT_NEAR(error_of_median(3), 0.67, 0.01);
  EXPECT_NEAR(error_of_median(15), 0.32, 0.01);
}

TEST(Statistics, tails) {
  EXPECT_NEAR(quantile_of_normal(0.5), 0, 1e-9);
  EXPECT_NEAR(quantile_of_normal(0.001), 3.0902, 1e-3);
  EXPECT_NEAR(quantile_of_normal(1e-7), 5.1993, 1e-3);
  EXPECT_NEAR(tail_of_poisson(2, 0), 1, 1e-12);
  EXPECT_NEAR(tail_of_poisson(2, 3), 0.3233, 1e-3);
  EXPECT_NEAR(tail_of_poisson(0, 1), 0, 1e-12);
}

}  // namespace

}  // namespace autopilot::nettest
