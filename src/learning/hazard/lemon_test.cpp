// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/lemon.hpp"

#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

constexpr double kLemonRate = 0.0045;  // faults per day of the kind

NodeHistory failing_node(int times, double last_day, double gap) {
  NodeHistory node{"a", {}};
  for (int i = times; i-- > 0;) {
    const double begin = last_day - i * gap;
    node.episodes.push_back({begin, begin + 0.5, FaultClass::hardware, false, {"job-" + std::to_string(i)}});
  }
  return node;
}

TEST(LemonScoring, a_node_without_a_fault_is_below_its_kind) {
  const LemonScore score = lemon_score_without_fault(100, kLemonRate);
  EXPECT_LT(score.faults_per_day, kLemonRate);
  EXPECT_LT(score.probability, 0.05);
}

TEST(LemonScoring, the_prior_alone_has_the_mean_of_the_kind) {
  EXPECT_NEAR(lemon_score_without_fault(0, kLemonRate).faults_per_day, kLemonRate, 1e-12);
}

TEST(LemonScoring, eight_faults_in_a_month_make_a_lemon_and_one_does_not) {
  EXPECT_GT(lemon_score(failing_node(8, 100, 4), 101, kLemonRate).probability, 0.9);
  EXPECT_LT(lemon_score(failing_node(1, 100, 6), 101, kLemonRate).probability, 0.9);
}

TEST(LemonScoring, old_faults_lose_their_weight) {
  const NodeHistory node = failing_node(8, 100, 4);
  EXPECT_GT(lemon_score(node, 101, kLemonRate).probability, lemon_score(node, 200, kLemonRate).probability);
  EXPECT_LT(lemon_score(node, 300, kLemonRate).probability, 0.1);
}

TEST(LemonScoring, faults_after_the_day_do_not_count) {
  const NodeHistory node = failing_node(8, 100, 4);
  EXPECT_EQ(lemon_score(node, 70, kLemonRate).probability,
            lemon_score_without_fault(70, kLemonRate).probability);
}

TEST(LemonScoring, a_validation_that_found_no_fault_lowers_the_score_but_not_below_none) {
  NodeHistory node = failing_node(3, 100, 6);
  const double before = lemon_score(node, 101, kLemonRate).faults_per_day;
  node.episodes.back().is_cleared = true;
  EXPECT_LT(lemon_score(node, 101, kLemonRate).faults_per_day, before);
  for (Episode& episode : node.episodes)
    episode.is_cleared = true;
  EXPECT_GT(lemon_score(node, 101, kLemonRate).faults_per_day, 0);
}

TEST(LemonScoring, software_counts_half) {
  EXPECT_EQ(lemon_weight({0, {}, FaultClass::software, false, {}}), 0.5);
  EXPECT_EQ(lemon_weight({0, {}, FaultClass::unknown, false, {}}), 1);
  EXPECT_EQ(lemon_weight({0, {}, FaultClass::application, false, {}}), 0);
}

TEST(LemonScoring, one_job_that_fails_again_and_again_does_not_make_a_lemon) {
  NodeHistory node = failing_node(8, 100, 4);
  EXPECT_EQ(jobs_hit(node, 101), 8U);
  EXPECT_EQ(jobs_hit(node, 90), 5U);
  EXPECT_TRUE(is_lemon(lemon_score(node, 101, kLemonRate), jobs_hit(node, 101)));
  for (Episode& episode : node.episodes)
    episode.jobs = {"job-1"};
  EXPECT_FALSE(is_lemon(lemon_score(node, 101, kLemonRate), jobs_hit(node, 101)));
}

}  // namespace
}  // namespace autopilot::learning
