// SPDX-License-Identifier: Apache-2.0
#include "core/intervals.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot {
namespace {

// For an integer shape it is the probability of fewer than `shape` events of a Poisson distribution of mean
// x.
double poisson_below(int shape, double x) {
  long double sum = 0;
  for (int k = 0; k < shape; ++k)
    sum += std::exp(-static_cast<long double>(x) + k * std::log(static_cast<long double>(x)) -
                    std::lgamma(static_cast<long double>(k) + 1));
  return static_cast<double>(sum);
}

TEST(UpperGamma, is_the_poisson_probability_for_integer_shapes) {
  for (const int shape : {1, 2, 3, 10, 100, 1000})
    for (const double factor : {0.1, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0}) {
      const double x = factor * shape;
      EXPECT_NEAR(upper_gamma(shape, x), poisson_below(shape, x), 1e-12) << shape << " " << x;
    }
}

TEST(UpperGamma, is_the_error_function_for_shape_one_half) {
  for (const double x : {1e-6, 0.1, 0.5, 1.0, 1.5, 2.0, 10.0, 100.0})
    EXPECT_NEAR(upper_gamma(0.5, x), std::erfc(std::sqrt(x)), 1e-13) << x;
}

TEST(UpperGamma, follows_the_recurrence_for_large_shapes) {
  // Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1)
  for (const double shape : {0.3, 7.7, 9999.5})
    for (const double x : {shape * 0.9, shape + 0.5, shape * 1.05})
      EXPECT_NEAR(upper_gamma(shape + 1, x) - upper_gamma(shape, x),
                  std::exp(shape * std::log(x) - x - std::lgamma(shape + 1)), 1e-11)
          << shape << " " << x;
}

TEST(UpperGamma, has_limits_at_both_ends) {
  EXPECT_EQ(upper_gamma(2, 0), 1);
  EXPECT_EQ(upper_gamma(2, std::numeric_limits<double>::infinity()), 0);
  EXPECT_LT(upper_gamma(0.5, 700), 1e-300);
}

TEST(UpperGamma, is_not_a_number_outside_its_range) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(upper_gamma(0, 1)));
  EXPECT_TRUE(std::isnan(upper_gamma(-1, 1)));
  EXPECT_TRUE(std::isnan(upper_gamma(1, -1)));
  EXPECT_TRUE(std::isnan(upper_gamma(nan, 1)));
  EXPECT_TRUE(std::isnan(upper_gamma(1, nan)));
}

// Exact bounds of the tables for Poisson counts.
TEST(PoissonBounds, few_events_have_the_exact_bounds) {
  EXPECT_EQ(poisson_bounds(0).low, 0);
  EXPECT_NEAR(poisson_bounds(0).high, 3.6889, 1e-4);
  EXPECT_NEAR(poisson_bounds(1).low, 0.0253, 1e-4);
  EXPECT_NEAR(poisson_bounds(1).high, 5.5716, 1e-4);
  EXPECT_NEAR(poisson_bounds(10).low, 4.7954, 1e-4);
  EXPECT_NEAR(poisson_bounds(10).high, 18.3904, 1e-4);
}

TEST(PoissonBounds, many_events_continue_the_exact_bounds) {
  EXPECT_NEAR(poisson_bounds(1001).low - poisson_bounds(1000).low, 1, 0.2);
  EXPECT_NEAR(poisson_bounds(1001).high - poisson_bounds(1000).high, 1, 0.2);
}

TEST(PoissonBounds, leave_the_same_probability_on_both_sides) {
  for (const int events : {1, 7, 100, 200, 999, 1000}) {
    const Interval bounds = poisson_bounds(static_cast<std::uint64_t>(events));
    EXPECT_NEAR(1 - poisson_below(events, bounds.low), 0.025, 1e-9) << events;
    EXPECT_NEAR(poisson_below(events + 1, bounds.high), 0.025, 1e-9) << events;
  }
}

TEST(PoissonBounds, of_very_many_events_stay_near_them) {
  EXPECT_LT(poisson_bounds(1'000'000'000).high, 1.001e9);
  EXPECT_GT(poisson_bounds(1'000'000'000).low, 0.999e9);
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
}  // namespace autopilot
