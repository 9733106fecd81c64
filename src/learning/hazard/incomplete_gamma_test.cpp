// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/incomplete_gamma.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot::learning {
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

}  // namespace
}  // namespace autopilot::learning
