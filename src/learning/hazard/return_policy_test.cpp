// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/return_policy.hpp"

#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

constexpr double kPolicyRate = 0.0045;

NodeHistory returned_node(double begin, std::optional<double> end) {
  return {"a", {{begin, end, FaultClass::hardware, false, {"job"}}}};
}

NodeHistory lemon_node(const std::string& name, int times) {
  NodeHistory node{name, {}};
  for (int i = 0; i < times; ++i) {
    const double begin = 100 - 3 * (times - 1 - i);
    node.episodes.push_back({begin, begin + 0.5, FaultClass::hardware, false, {"job-" + std::to_string(i)}});
  }
  return node;
}

TEST(ReturnPlan, a_node_that_returned_is_on_probation_and_has_two_rechecks) {
  const NodePlan plan = plan_return(returned_node(10, 12), 12.5, std::nullopt, kPolicyRate);
  EXPECT_TRUE(plan.is_in_service);
  EXPECT_EQ(plan.probation_until_day, 15);
  EXPECT_EQ(plan.largest_job_gpus, 64);
  ASSERT_EQ(plan.rechecks.size(), 2U);
  EXPECT_EQ(plan.rechecks[0].due_day, 13);
  EXPECT_EQ(plan.rechecks[1].due_day, 15);
  EXPECT_FALSE(plan.is_lemon);
  ASSERT_EQ(plan.reasons.size(), 1U);
  EXPECT_EQ(plan.reasons[0],
            "The node returned to service 12 h ago; until 72 h after the return it should get no job of more "
            "than 64 "
            "GPUs.");
}

TEST(ReturnPlan, a_probation_ends_and_an_overdue_recheck_remains) {
  const NodePlan plan = plan_return(returned_node(10, 12), 20, 13.5, kPolicyRate);
  EXPECT_FALSE(plan.probation_until_day);
  EXPECT_FALSE(plan.largest_job_gpus);
  ASSERT_EQ(plan.rechecks.size(), 1U);
  EXPECT_EQ(plan.rechecks[0].due_day, 15);
  EXPECT_TRUE(plan.reasons.empty());
  EXPECT_TRUE(plan_return(returned_node(10, 12), 20, 15.5, kPolicyRate).rechecks.empty());
}

TEST(ReturnPlan, a_check_before_the_last_fault_does_not_count) {
  EXPECT_EQ(plan_return(returned_node(10, 12), 12.5, 9.0, kPolicyRate).rechecks.size(), 2U);
}

TEST(ReturnPlan, a_node_out_of_service_has_no_probation) {
  const NodePlan plan = plan_return(returned_node(10, std::nullopt), 12.5, std::nullopt, kPolicyRate);
  EXPECT_FALSE(plan.is_in_service);
  EXPECT_FALSE(plan.probation_until_day);
  EXPECT_TRUE(plan.rechecks.empty());
}

TEST(ReturnPlan, a_node_that_has_not_returned_has_no_restriction) {
  const NodePlan plan = plan_return(returned_node(10, 12), 5, std::nullopt, kPolicyRate);
  EXPECT_TRUE(plan.is_in_service);
  EXPECT_FALSE(plan.largest_job_gpus);
  EXPECT_TRUE(plan.reasons.empty());
}

TEST(ReturnPlan, the_worst_lemons_within_the_budget_get_no_job) {
  std::vector<NodePlan> plans;
  for (const int times : {12, 10, 14, 1})
    plans.push_back(
        plan_return(lemon_node("n" + std::to_string(times), times), 110, std::nullopt, kPolicyRate));
  EXPECT_TRUE(plans[0].is_lemon && plans[1].is_lemon && plans[2].is_lemon);
  EXPECT_FALSE(plans[3].is_lemon);
  apply_lemon_budget(plans, 140);
  EXPECT_EQ(plans[0].largest_job_gpus, 0);
  EXPECT_EQ(plans[1].largest_job_gpus, 64);
  EXPECT_EQ(plans[2].largest_job_gpus, 0);
  EXPECT_FALSE(plans[3].largest_job_gpus);
  EXPECT_EQ(plans[1].reasons.size(), 2U);
  EXPECT_NE(plans[1].reasons[1].find("budget of 2 lemons"), std::string::npos) << plans[1].reasons[1];
}

TEST(ReturnPlan, a_lemon_on_probation_has_one_advice_and_the_command) {
  NodeHistory node = lemon_node("c1/n1", 12);
  std::vector<NodePlan> plans{plan_return(node, 101, std::nullopt, kPolicyRate)};
  ASSERT_TRUE(plans[0].is_lemon && plans[0].probation_until_day);
  apply_lemon_budget(plans, 67);
  ASSERT_EQ(plans[0].reasons.size(), 2U);
  EXPECT_TRUE(plans[0].reasons[1].ends_with("hold it with kubectl cordon n1, or drain it in your scheduler."))
      << plans[0].reasons[1];
}

TEST(ReturnPlan, a_small_fleet_holds_no_lemon_and_says_why) {
  std::vector<NodePlan> plans{plan_return(lemon_node("n1", 12), 110, std::nullopt, kPolicyRate)};
  apply_lemon_budget(plans, 12);
  EXPECT_EQ(plans[0].reasons.at(1),
            "The fleet has too few nodes to hold a lemon, fewer than 20; it should get no job of more than "
            "64 GPUs.");
}

TEST(ReturnPlan, a_lemon_in_repair_does_not_use_the_budget_up) {
  NodeHistory in_repair = lemon_node("worst", 14);
  in_repair.episodes.back().end_day.reset();
  std::vector<NodePlan> plans{plan_return(in_repair, 110, std::nullopt, kPolicyRate),
                              plan_return(lemon_node("next", 12), 110, std::nullopt, kPolicyRate)};
  apply_lemon_budget(plans, 67);
  EXPECT_FALSE(plans[0].largest_job_gpus);
  EXPECT_EQ(plans[1].largest_job_gpus, 0);
}

TEST(ReturnPlan, the_budget_is_a_small_share_of_the_fleet) {
  EXPECT_EQ(lemon_budget(0), 0U);
  EXPECT_EQ(lemon_budget(19), 0U);
  EXPECT_EQ(lemon_budget(20), 1U);
  EXPECT_EQ(lemon_budget(400), 6U);
}

TEST(ReturnPlan, a_probation_is_learned_from_the_hazard) {
  EXPECT_EQ(learned_probation_days({0.003, {}}, kPolicyRate), 0);
  EXPECT_EQ(learned_probation_days({0.001, {{30, 10}}}, kPolicyRate), 3);
  const double days = learned_probation_days({0.0026, {{0.05, 0.2}, {3, 0.1}}}, kPolicyRate);
  EXPECT_GT(days, 0.1);
  EXPECT_LT(days, 3);
}

}  // namespace
}  // namespace autopilot::learning
