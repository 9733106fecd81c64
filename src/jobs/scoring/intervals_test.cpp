// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/intervals.hpp"

#include <gtest/gtest.h>

namespace autopilot::jobs {
namespace {

void expect_interval(const std::optional<Estimate>& found, double value, double low, double high) {
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value, value, 1e-4);
  EXPECT_NEAR(found->low, low, 5e-4);
  EXPECT_NEAR(found->high, high, 5e-4);
}

TEST(Intervals, a_proportion_has_the_wilson_interval) {
  expect_interval(proportion(78, 80), 0.975, 0.9134, 0.9931);
  expect_interval(proportion(0, 59), 0, 0, 0.0611);
  expect_interval(proportion(59, 59), 1, 0.9389, 1);
  expect_interval(proportion(5, 10), 0.5, 0.2366, 0.7634);
  EXPECT_FALSE(proportion(0, 0));
}

TEST(Intervals, a_rate_has_the_exact_poisson_interval) {
  expect_interval(rate(0, 1), 0, 0, 3.6889);
  expect_interval(rate(1, 1), 1, 0.0253, 5.5716);
  expect_interval(rate(10, 1), 10, 4.7954, 18.3904);
  expect_interval(rate(10, 100), 0.1, 0.047954, 0.183904);
  EXPECT_FALSE(rate(3, 0));
  EXPECT_FALSE(rate(3, -1));
}

TEST(Intervals, f1_weighs_wrong_and_missed_alike) {
  EXPECT_NEAR(f1_of(8, 2, 2)->value, 0.8, 1e-12);
  EXPECT_NEAR(f1_of(8, 4, 0)->value, f1_of(8, 0, 4)->value, 1e-12);
  EXPECT_FALSE(f1_of(0, 0, 0));
}

TEST(Intervals, quantiles_are_values_of_the_list) {
  std::vector<double> values{5, 1, 4, 2, 3, 10, 9, 8, 7, 6};
  EXPECT_EQ(quantile(values, 0.5), 5.5);
  EXPECT_EQ(quantile(values, 0.9), 9);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 1), 10);
  std::vector<double> empty;
  EXPECT_FALSE(quantile(empty, 0.5));
}

}  // namespace
}  // namespace autopilot::jobs
