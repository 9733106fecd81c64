// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/distribution.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot::learning {
namespace {

Distribution distribution(std::vector<double> values) {
  return Distribution::of(std::move(values)).value();
}

TEST(Distributions, the_shortfall_of_single_values_is_relative) {
  EXPECT_NEAR(shortfall(distribution({95}), distribution({100}), Worse::lower), 0.05, 1e-12);
  EXPECT_EQ(shortfall(distribution({105}), distribution({100}), Worse::lower), 0);
  EXPECT_NEAR(shortfall(distribution({105}), distribution({100}), Worse::higher), 0.05, 1e-12);
  EXPECT_EQ(shortfall(distribution({95}), distribution({100}), Worse::higher), 0);
}

TEST(Distributions, better_results_do_not_make_up_for_worse_ones) {
  const Distribution reference = distribution({100, 100});
  EXPECT_NEAR(shortfall(distribution({80, 120}), reference, Worse::lower), 0.1, 1e-12);
  EXPECT_NEAR(difference(distribution({80, 120}), reference), 0.2, 1e-12);
  EXPECT_EQ(difference(reference, distribution({100})), 0);
}

TEST(Distributions, different_counts_of_values_are_compared_by_share) {
  EXPECT_NEAR(shortfall(distribution({90, 100, 100}), distribution({100, 100}), Worse::lower), 0.1 / 3,
              1e-12);
}

TEST(Distributions, each_node_has_equal_weight_in_a_pool) {
  const Distribution many = distribution({10, 10, 10, 10});
  const Distribution one = distribution({20});
  const std::vector<const Distribution*> parts{&many, &one};
  EXPECT_NEAR(Distribution::pooled(parts).mean(), 15, 1e-12);
  EXPECT_EQ(Distribution::pooled(parts).median(), 10);
}

TEST(Distributions, quantiles_are_values_that_were_measured) {
  const Distribution values = distribution({4, 1, 3, 2});
  EXPECT_EQ(values.quantile(0), 1);
  EXPECT_EQ(values.quantile(0.5), 2);
  EXPECT_EQ(values.quantile(1), 4);
  EXPECT_NEAR(distribution({9, 11}).variation(), std::sqrt(2.0) / 10, 1e-12);
  EXPECT_EQ(distribution({9}).variation(), 0);
}

TEST(Distributions, values_that_cannot_be_compared_are_refused) {
  EXPECT_EQ(Distribution::of({}).error().code, Errc::malformed);
  EXPECT_EQ(Distribution::of({1, 0}).error().code, Errc::malformed);
  EXPECT_EQ(Distribution::of({1, -1}).error().code, Errc::malformed);
  EXPECT_EQ(Distribution::of({std::numeric_limits<double>::quiet_NaN()}).error().code, Errc::malformed);
  EXPECT_EQ(Distribution::of({std::numeric_limits<double>::infinity()}).error().code, Errc::malformed);
  EXPECT_TRUE(Distribution::of(std::vector<double>(kMostValuesOfNode, 1)));
  EXPECT_EQ(Distribution::of(std::vector<double>(kMostValuesOfNode + 1, 1)).error().code, Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::learning
