// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/ranking.hpp"

#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

NodeScore count_score() {
  return {
      "count",
      [](const NodeHistory& node, double day) { return static_cast<double>(begins_between(node, 0, day)); },
      [](double) { return 0.0; }};
}

RankingPlan one_day(double day) {
  RankingPlan plan;
  plan.days = {day};
  plan.horizon_days = 10;
  plan.top_share = 0.1;
  plan.draws = 200;
  return plan;
}

TEST(NodeRanking, precision_is_the_share_of_the_top_nodes_that_fail) {
  // "a" failed before and fails again; "b" failed before; 18 nodes did not fail.
  const auto fleet = make_fleet_history({{"a", 1, 2.0, {}, false, ""},
                                         {"a", 3, 4.0, {}, false, ""},
                                         {"a", 12, 13.0, {}, false, ""},
                                         {"b", 1, 2.0, {}, false, ""}},
                                        20, 30);
  const RankingResult result = judge_ranking(*fleet, count_score(), one_day(10));
  EXPECT_DOUBLE_EQ(result.precision.value, 0.5);
  EXPECT_DOUBLE_EQ(result.base_rate, 1.0 / 20);
  EXPECT_DOUBLE_EQ(result.lift.value, 10);
  EXPECT_DOUBLE_EQ(result.auc.value, 1);
}

TEST(NodeRanking, a_node_that_is_out_of_service_is_not_ranked) {
  const auto fleet = make_fleet_history({{"a", 1, 2.0, {}, false, ""},
                                         {"a", 9, 11.0, {}, false, ""},
                                         {"a", 15, 16.0, {}, false, ""},
                                         {"b", 12, 13.0, {}, false, ""}},
                                        20, 30);
  const RankingResult result = judge_ranking(*fleet, count_score(), one_day(10));
  EXPECT_DOUBLE_EQ(result.base_rate, 1.0 / 19);
}

TEST(NodeRanking, nodes_of_equal_score_share_their_places) {
  const auto fleet =
      make_fleet_history({{"a", 12, 13.0, {}, false, ""}, {"b", 14, 15.0, {}, false, ""}}, 20, 30);
  const RankingResult result = judge_ranking(*fleet, count_score(), one_day(10));
  EXPECT_NEAR(result.precision.value, 0.1, 1e-12);
  EXPECT_NEAR(result.lift.value, 1, 1e-12);
  EXPECT_NEAR(result.auc.value, 0.5, 1e-12);
}

TEST(NodeRanking, figures_are_means_over_the_days) {
  const auto fleet =
      make_fleet_history({{"a", 1, 2.0, {}, false, ""}, {"a", 12, 13.0, {}, false, ""}}, 10, 60);
  RankingPlan plan = one_day(10);
  plan.days.push_back(40);  // no node fails after it
  const RankingResult result = judge_ranking(*fleet, count_score(), plan);
  EXPECT_DOUBLE_EQ(result.precision.value, 0.5);
  EXPECT_DOUBLE_EQ(result.base_rate, 0.05);
  EXPECT_DOUBLE_EQ(result.auc.value, 1);
}

TEST(NodeRanking, without_a_day_or_a_fault_there_is_no_figure) {
  const auto fleet = make_fleet_history({{"a", 1, 2.0, {}, false, ""}}, 10, 60);
  EXPECT_EQ(judge_ranking(*fleet, count_score(), RankingPlan{}).precision.value, 0);
  const RankingResult result = judge_ranking(*fleet, count_score(), one_day(20));
  EXPECT_EQ(result.precision.value, 0);
  EXPECT_EQ(result.lift.value, 0);
}

}  // namespace
}  // namespace autopilot::learning
