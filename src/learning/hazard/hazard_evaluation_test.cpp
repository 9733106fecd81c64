// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/hazard_evaluation.hpp"

#include <gtest/gtest.h>

#include "tests/support/learning/simulated_fleet.hpp"

namespace autopilot::learning {
namespace {

const HazardModel kEvaluatedTruth{0.003, {{0.1, 0.2}, {3, 0.15}, {30, 0.2}}};

HazardEvaluationOptions evaluation_until(double day) {
  HazardEvaluationOptions options;
  options.fit_until_day = day;
  options.draws = 50;
  return options;
}

TEST(HazardEvaluation, finds_probation_ranking_and_calibration_of_a_fleet_whose_model_is_known) {
  const FleetHistory fleet = simulated_fleet(kEvaluatedTruth, {});
  const auto result = evaluate_hazard(fleet, evaluation_until(200));
  ASSERT_TRUE(result) << result.error().what;
  EXPECT_EQ(result->nodes, 400U);
  EXPECT_EQ(result->fitted.episodes + result->judged.episodes, result->whole.episodes);
  EXPECT_NEAR(result->whole.mtbf_days(),
              result->whole.service_days / static_cast<double>(result->whole.episodes), 1e-9);
  ASSERT_EQ(result->models.size(), 3U);
  EXPECT_GT(result->models[0].gain_per_fault, result->models[1].gain_per_fault);
  EXPECT_EQ(result->models[2].gain_per_fault, 0);
  EXPECT_GT(result->windows[1].lift.low, 5);
  EXPECT_EQ(result->windows.back().days, result->learned_probation_days);
  ASSERT_EQ(result->rankings.size(), 5U);
  EXPECT_EQ(result->ranking_days, 25U);
  EXPECT_GT(result->rankings[0].lift.value, 1.5);
  EXPECT_GT(result->rankings[0].auc.value, 0.55);
  EXPECT_NEAR(result->calibration.ratio.value, 1, 0.15);
}

TEST(HazardEvaluation, the_same_input_gives_the_same_figures) {
  const FleetHistory fleet = simulated_fleet(kEvaluatedTruth, {});
  const auto first = evaluate_hazard(fleet, evaluation_until(200));
  const auto second = evaluate_hazard(fleet, evaluation_until(200));
  EXPECT_EQ(first->rankings[0].precision.low, second->rankings[0].precision.low);
  EXPECT_EQ(first->calibration.ratio.high, second->calibration.ratio.high);
}

TEST(HazardEvaluation, refuses_a_split_that_leaves_nothing_to_judge) {
  const FleetHistory fleet = simulated_fleet(kEvaluatedTruth, {});
  for (const double day : {-1.0, 390.0, 400.0, 1000.0}) {
    const auto result = evaluate_hazard(fleet, evaluation_until(day));
    ASSERT_FALSE(result) << day;
    EXPECT_EQ(result.error().code, Errc::malformed);
  }
  EXPECT_EQ(evaluate_hazard(fleet, evaluation_until(1)).error().code, Errc::unavailable);
}

TEST(HazardEvaluation, counts_nodes_that_are_out_of_service_at_the_end) {
  FleetHistory fleet = simulated_fleet(kEvaluatedTruth, {});
  fleet.nodes.front().episodes.back().end_day.reset();
  EXPECT_EQ(evaluate_hazard(fleet, evaluation_until(200))->open_at_end, 1U);
}

}  // namespace
}  // namespace autopilot::learning
