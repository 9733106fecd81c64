// SPDX-License-Identifier: Apache-2.0
#include "learning/threshold/threshold.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace autopilot::learning {
namespace {

constexpr Duration kEvery = std::chrono::minutes(5);

// Scores of one place every five minutes, exponential with mean 1, independent.
std::vector<Score> exponential_scores(std::size_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::exponential_distribution<double> draw(1);
  std::vector<Score> scores;
  for (std::size_t i = 0; i < count; ++i)
    scores.push_back({"c/n", WallTime(kEvery * static_cast<int>(i)), draw(engine)});
  return scores;
}

TEST(Budgets, the_rate_of_an_evaluation_follows_from_the_budget) {
  EXPECT_NEAR(rate_of({.findings = 1, .evaluations = 288}).value(), 1 / 288000.0, 1e-15);
  EXPECT_EQ(rate_of({.findings = 0, .evaluations = 288}).error().code, Errc::malformed);
  EXPECT_EQ(rate_of({.findings = 1, .evaluations = 0}).error().code, Errc::malformed);
  EXPECT_EQ(rate_of({.findings = 1e6, .evaluations = 288}).error().code, Errc::malformed);
  EXPECT_EQ(rate_of({.findings = std::numeric_limits<double>::quiet_NaN(), .evaluations = 1}).error().code,
            Errc::malformed);
}

TEST(Thresholds, many_scores_give_an_order_statistic) {
  const auto scores = exponential_scores(20'000);
  const auto threshold = learn_threshold(scores, 0.001).value();
  EXPECT_EQ(threshold.method, ThresholdMethod::conformal);
  EXPECT_LE(findings_above(scores, threshold.value), 20U);
  EXPECT_GE(findings_above(scores, threshold.value * 0.999), 20U);
}

TEST(Thresholds, few_scores_give_the_tail_of_their_distribution) {
  double sum = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto threshold = learn_threshold(exponential_scores(5'000, seed), 0.0001).value();
    EXPECT_EQ(threshold.method, ThresholdMethod::tail);
    sum += threshold.value / 20;
  }
  EXPECT_NEAR(sum, -std::log(0.0001), 1.2);  // the quantile of the exponential distribution: 9.2
}

TEST(Thresholds, a_learned_threshold_keeps_its_budget_on_other_scores) {
  const double rate = 0.0005;
  std::uint64_t findings = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const auto threshold = learn_threshold(exponential_scores(40'000, seed), rate).value();
    findings += findings_above(exponential_scores(40'000, 100 + seed), threshold.value);
  }
  EXPECT_GT(findings, 200U / 1.5);
  EXPECT_LT(findings, 200U * 1.5);
}

TEST(Thresholds, scores_within_half_an_hour_are_one_finding) {
  std::vector<Score> scores;
  for (int i = 0; i < 12; ++i)
    scores.push_back({"c/n", WallTime(kEvery * i), 9});
  scores.push_back({"c/m", WallTime(kEvery), 9});
  EXPECT_EQ(findings_above(usable_scores(scores, {}), 8), 3U);
  EXPECT_EQ(findings_above(usable_scores(scores, {}), 9), 0U);
}

TEST(Thresholds, scores_at_labelled_faults_do_not_count) {
  const auto scores = exponential_scores(100);
  const LabelledFault fault{"c/n", WallTime(kEvery * 20), WallTime(kEvery * 30)};
  EXPECT_EQ(usable_scores(scores, std::vector{fault}).size(), 100U - 11 - 12);
  EXPECT_EQ(usable_scores(scores, std::vector<LabelledFault>{{"c/m", fault.begin, fault.end}}).size(), 100U);
}

TEST(Thresholds, the_order_of_scores_has_no_influence_and_values_that_are_no_numbers_are_dropped) {
  auto scores = exponential_scores(3'000);
  const auto first = learn_threshold(usable_scores(scores, {}), 0.0001).value();
  std::ranges::reverse(scores);
  scores.push_back({"c/n", {}, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(learn_threshold(usable_scores(scores, {}), 0.0001)->value, first.value);
}

TEST(Thresholds, too_few_and_equal_scores_are_refused) {
  EXPECT_EQ(learn_threshold(exponential_scores(kLeastScores - 1), 0.01).error().code, Errc::unavailable);
  EXPECT_EQ(learn_threshold(exponential_scores(600), 0).error().code, Errc::malformed);
  std::vector<Score> equal = exponential_scores(600);
  for (Score& score : equal)
    score.value = 1;
  EXPECT_EQ(learn_threshold(equal, 0.0001).error().code, Errc::unavailable);
}

TEST(Thresholds, confirmed_false_positives_raise_a_threshold_within_bounds) {
  const Threshold learned{.value = 10, .rate = 0.001};
  EXPECT_NEAR(adapted(10, learned, true), 10 * std::exp(0.05 * 0.999), 1e-9);
  EXPECT_LT(adapted(10, learned, false), 10);
  double raised = 10;
  for (int i = 0; i < 100; ++i)
    raised = adapted(raised, learned, true);
  EXPECT_NEAR(raised, 15, 1e-9);
  EXPECT_NEAR(adapted(1, learned, false), 7, 1e-9);
}

TEST(Thresholds, facts_are_hard_rules) {
  EXPECT_TRUE(is_hard_rule("gpu.present"));
  EXPECT_TRUE(is_hard_rule("gpu.ecc"));
  EXPECT_FALSE(is_hard_rule("network.bandwidth"));
}

TEST(RealisedBudgets, no_finding_still_has_an_upper_bound) {
  const auto budget = realised(0, 3000).value();
  EXPECT_EQ(budget.per_1000_node_days, 0);
  EXPECT_NEAR(budget.high, 1, 0.01);
  EXPECT_NEAR(realised(20, 2000)->per_1000_node_days, 10, 1e-9);
  EXPECT_FALSE(realised(1, 0));
}

}  // namespace
}  // namespace autopilot::learning
