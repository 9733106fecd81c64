// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/hazard_model.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "learning/hazard/fleet_level.hpp"
#include "tests/support/learning/simulated_fleet.hpp"

namespace autopilot::learning {
namespace {

const HazardModel kFitTruth{0.003, {{0.1, 0.2}, {3, 0.15}, {30, 0.1}}};
constexpr std::array<double, 3> kFitConstants{0.1, 3, 30};

double total_excess(const HazardModel& model) {
  double sum = 0;
  for (const HazardTerm& term : model.terms)
    sum += term.faults;
  return sum;
}

TEST(HazardFit, finds_the_rates_that_made_the_faults) {
  const FleetHistory fleet =
      simulated_fleet(kFitTruth, {.nodes = 2000, .days = 400, .repair_days = 0.5, .seed = 3});
  const auto model = fit_hazard(fleet, 400, kFitConstants);
  ASSERT_TRUE(model) << model.error().what;
  EXPECT_NEAR(model->base_per_day / kFitTruth.base_per_day, 1, 0.06);
  EXPECT_NEAR(total_excess(*model), total_excess(kFitTruth), 0.05);
  EXPECT_NEAR(model->terms[0].faults, 0.2, 0.03);
  EXPECT_NEAR(model->terms[1].faults, 0.15, 0.04);
}

TEST(HazardFit, sees_nothing_after_its_last_day) {
  FleetHistory fleet = simulated_fleet(kFitTruth, {});
  const auto before = fit_hazard(fleet, 200);
  for (NodeHistory& node : fleet.nodes) {
    std::erase_if(node.episodes, [](const Episode& episode) { return episode.begin_day > 200; });
    if (!node.episodes.empty() && node.episodes.back().end_day > 200) node.episodes.back().end_day.reset();
  }
  const auto after = fit_hazard(fleet, 200);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->base_per_day, after->base_per_day);
  for (std::size_t i = 0; i < before->terms.size(); ++i)
    EXPECT_EQ(before->terms[i].faults, after->terms[i].faults);
}

TEST(HazardFit, keeps_the_prior_where_no_node_returned) {
  std::vector<NodeFault> faults;
  for (int i = 0; i < 30; ++i)
    faults.push_back({"node-" + std::to_string(i), 10, std::nullopt, FaultClass::hardware, false, ""});
  const auto fleet = make_fleet_history(faults, 100, 20);
  const auto model = fit_hazard(*fleet, 20);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->base_per_day, 30.0 / (30 * 10 + 70 * 20), 1e-9);
  for (const HazardTerm& term : model->terms)
    EXPECT_NEAR(term.faults, kPriorFaultsOfTerm / kPriorReturns, 1e-9);
}

TEST(HazardFit, refuses_too_few_faults) {
  const auto fleet = make_fleet_history({{"a", 1, 2.0, FaultClass::hardware, false, ""}}, 400, 20);
  const auto model = fit_hazard(*fleet, 20);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Errc::unavailable);
}

TEST(HazardFit, is_more_likely_than_a_constant_rate_for_faults_that_it_did_not_see) {
  const FleetHistory fleet = simulated_fleet(kFitTruth, {});
  const auto model = fit_hazard(fleet, 200);
  const auto constant = fit_hazard(fleet, 200, {});
  ASSERT_TRUE(model && constant);
  EXPECT_GT(log_likelihood(*model, fleet, 200, 400), log_likelihood(*constant, fleet, 200, 400) + 20);
}

TEST(HazardOfNode, is_the_base_before_a_return_and_decays_after_it) {
  const NodeHistory node{"a", {{10, 12.0, FaultClass::hardware, false, {}}}};
  const HazardModel model{0.01, {{3, 0.6}}};
  EXPECT_DOUBLE_EQ(hazard_at(model, node, 11), 0.01);
  EXPECT_DOUBLE_EQ(hazard_at(model, node, 12), 0.21);
  EXPECT_NEAR(hazard_at(model, node, 15), 0.01 + 0.2 * std::exp(-1), 1e-12);
  EXPECT_NEAR(expected_faults(model, node, 12, 1012), 10 + 0.6, 1e-9);
  EXPECT_EQ(expected_faults(model, node, 5, 8), expected_faults_without_return(model, 5, 8));
}

TEST(HazardOfNode, expected_faults_are_the_integral_of_the_hazard) {
  const NodeHistory node{"a", {{1, 2.0, {}, false, {}}, {4, 5.0, {}, false, {}}}};
  double sum = 0;
  constexpr double step = 1e-3;
  for (int i = 0; i < 7000; ++i)
    sum += step * hazard_at(kFitTruth, node, 5 + (i + 0.5) * step);
  EXPECT_NEAR(expected_faults(kFitTruth, node, 5, 12), sum, 1e-4);
}

TEST(HazardOfNode, a_probability_is_between_0_and_1) {
  EXPECT_EQ(probability_of_fault(0), 0);
  EXPECT_NEAR(probability_of_fault(1e-9), 1e-9, 1e-17);
  EXPECT_EQ(probability_of_fault(std::numeric_limits<double>::infinity()), 1);
}

TEST(HazardOfNode, the_time_above_a_rate_ends_where_the_hazard_crosses_it) {
  const HazardModel model{0.01, {{3, 0.6}}};  // 0.21 at the return
  EXPECT_NEAR(days_above(model, 0.11, 10), 3 * std::log(2.0), 1e-6);
  EXPECT_EQ(days_above(model, 0.11, 1), 1);
  EXPECT_EQ(days_above(model, 0.3, 10), 0);
}

TEST(FleetLevel, is_1_where_the_faults_follow_the_model_and_rises_with_a_burst) {
  const FleetHistory fleet = simulated_fleet(kFitTruth, {});
  EXPECT_EQ(fleet_level(kFitTruth, fleet, 0), 1);
  EXPECT_NEAR(fleet_level(kFitTruth, fleet, 390), 1, 0.2);
  HazardModel half = kFitTruth;
  half.base_per_day /= 2;
  half.terms.clear();
  EXPECT_GT(fleet_level(half, fleet, 390), 2);
}

TEST(FleetLevel, sees_nothing_after_its_day) {
  FleetHistory fleet = simulated_fleet(kFitTruth, {});
  const double before = fleet_level(kFitTruth, fleet, 100);
  for (NodeHistory& node : fleet.nodes)
    std::erase_if(node.episodes, [](const Episode& episode) { return episode.begin_day > 100; });
  EXPECT_EQ(fleet_level(kFitTruth, fleet, 100), before);
}

}  // namespace
}  // namespace autopilot::learning
