// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "learning/values/check_value.hpp"
#include "learning/values/labels.hpp"
#include "learning/values/likelihood_ratio.hpp"
#include "learning/values/recall.hpp"

namespace autopilot::learning {
namespace {

WallTime hour(int hours) {
  return WallTime(std::chrono::hours(hours));
}

const Fault kFinding{
    .id = "f1", .place = {"c", "n1", ""}, .begin = hour(9), .detected = hour(10), .check = "net.x"};

Label label(LabelAnswer answer, LabelSource source, const std::string& id = "l") {
  return {.id = id,
          .place = {"c", "n1", ""},
          .time = hour(50),
          .fault = "f1",
          .answer = answer,
          .source = source};
}

NodeJob completed(int from, int to) {
  return {.id = "j",
          .place = {"c", "n1", ""},
          .job = "j",
          .start = hour(from),
          .end = hour(to),
          .outcome = JobOutcome::completed};
}

SettledFault settled(const std::vector<Label>& labels, const std::vector<NodeJob>& jobs = {},
                     const std::vector<Repair>& repairs = {}) {
  return settle(std::vector{kFinding}, labels, jobs, repairs).at(0);
}

TEST(SettledFaults, the_most_trusted_label_settles_a_fault) {
  const auto user = label(LabelAnswer::healthy, LabelSource::user, "a");
  const auto rma = label(LabelAnswer::faulty, LabelSource::rma, "b");
  for (const auto& labels : {std::vector{user, rma}, std::vector{rma, user}}) {
    EXPECT_EQ(settled(labels, {completed(10, 40)}).answer, LabelAnswer::faulty);
    EXPECT_EQ(settled(labels).trust, 0.95);
  }
}

TEST(SettledFaults, sources_that_disagree_are_stated_and_a_corrected_answer_is_not) {
  Label first = label(LabelAnswer::healthy, LabelSource::user);
  Label corrected = label(LabelAnswer::faulty, LabelSource::user);
  corrected.time = first.time + std::chrono::hours(1);
  EXPECT_FALSE(settled({first, corrected}).is_disputed);
  EXPECT_TRUE(settled({first, label(LabelAnswer::faulty, LabelSource::rma)}).is_disputed);
  EXPECT_FALSE(settled({first, label(LabelAnswer::faulty, LabelSource::agreement)}).is_disputed);
}

TEST(SettledFaults, a_missing_label_is_unclear_and_not_healthy) {
  EXPECT_EQ(settled({}, {completed(10, 40)}).answer, LabelAnswer::unclear);
}

TEST(SettledFaults, a_healthy_label_needs_a_day_of_successful_jobs) {
  const std::vector<Label> labels{label(LabelAnswer::healthy, LabelSource::user)};
  EXPECT_EQ(settled(labels).answer, LabelAnswer::unclear);
  EXPECT_EQ(settled(labels, {completed(10, 33)}).answer, LabelAnswer::unclear);
  EXPECT_EQ(settled(labels, {completed(10, 34)}).answer, LabelAnswer::healthy);
  EXPECT_EQ(settled(labels, {completed(0, 20), completed(20, 34)}).answer, LabelAnswer::healthy);
  NodeJob failed = completed(10, 34);
  failed.outcome = JobOutcome::failed;
  EXPECT_EQ(settled(labels, {failed}).answer, LabelAnswer::unclear);
}

TEST(SettledFaults, job_time_after_a_repair_does_not_count) {
  const std::vector<Label> labels{label(LabelAnswer::healthy, LabelSource::user)};
  const Repair repair{.id = "r", .place = {"c", "n1", ""}, .begin = hour(30)};
  EXPECT_EQ(settled(labels, {completed(10, 60)}, {repair}).answer, LabelAnswer::unclear);
}

std::vector<SettledFault> findings(const std::string& check, int right, int wrong) {
  std::vector<SettledFault> faults;
  for (int i = 0; i < right + wrong; ++i)
    faults.push_back({.fault = std::to_string(i),
                      .check = check,
                      .answer = i < right ? LabelAnswer::faulty : LabelAnswer::healthy,
                      .trust = 0.9});
  return faults;
}

CheckRole role_after(const std::string& check, int right, int wrong, CheckRole current) {
  return next_role(precision_of(check, "gpu=H100", findings(check, right, wrong)), current);
}

TEST(CheckRoles, a_check_that_is_mostly_wrong_becomes_advisory) {
  EXPECT_EQ(role_after("net.x", 0, 2, CheckRole::gating), CheckRole::gating);
  EXPECT_EQ(role_after("net.x", 0, 3, CheckRole::gating), CheckRole::advisory);
  EXPECT_EQ(role_after("net.x", 10, 11, CheckRole::gating), CheckRole::gating);
}

TEST(CheckRoles, a_check_becomes_gating_only_after_many_right_findings) {
  EXPECT_EQ(role_after("net.x", 27, 0, CheckRole::advisory), CheckRole::advisory);
  EXPECT_EQ(role_after("net.x", 28, 0, CheckRole::advisory), CheckRole::gating);
}

TEST(CheckRoles, hard_rules_stay_gating) {
  EXPECT_EQ(role_after("gpu.ecc", 0, 50, CheckRole::gating), CheckRole::gating);
}

TEST(CheckRoles, labels_of_little_trust_do_not_count) {
  auto faults = findings("net.x", 0, 50);
  for (SettledFault& fault : faults)
    fault.trust = 0.5;
  EXPECT_EQ(precision_of("net.x", "", faults).wrong, 0U);
}

Validation validation(int number, Health cheap, Health deep) {
  Validation result{.id = std::to_string(number), .end = hour(number)};
  result.checks = {{.check = "cheap", .health = cheap}, {.check = "deep", .health = deep}};
  return result;
}

TEST(Redundancies, a_check_without_unique_finds_is_redundant_after_500_validations) {
  const std::vector<std::string> by_cost{"cheap", "deep"};
  std::vector<Validation> validations;
  for (int i = 0; i < 499; ++i)
    validations.push_back(validation(i, i % 50 == 0 ? Health::failed : Health::healthy,
                                     i % 50 == 0 ? Health::failed : Health::healthy));
  EXPECT_FALSE(redundancy_of("deep", by_cost, validations).is_redundant());
  validations.push_back(validation(499, Health::healthy, Health::healthy));
  const auto found = redundancy_of("deep", by_cost, validations);
  EXPECT_TRUE(found.is_redundant());
  EXPECT_EQ(found.finds, 10U);
  EXPECT_NEAR(found.unique_bound, 0.006, 0.0001);
  validations.push_back(validation(500, Health::healthy, Health::failed));
  EXPECT_FALSE(redundancy_of("deep", by_cost, validations).is_redundant());
  EXPECT_EQ(redundancy_of("cheap", by_cost, validations).unique,
            redundancy_of("cheap", by_cost, validations).finds);
}

TEST(Redundancies, unknown_results_do_not_count) {
  std::vector<Validation> validations;
  for (int i = 0; i < 600; ++i)
    validations.push_back(validation(i, Health::healthy, Health::unknown));
  EXPECT_EQ(redundancy_of("deep", std::vector<std::string>{"cheap", "deep"}, validations).validations, 0U);
}

TEST(LikelihoodRatios, counts_are_smoothed_and_forgotten) {
  std::vector<SignalCase> cases;
  for (const auto& fault : findings("net.x", 10, 10))
    cases.push_back({fault, fault.answer == LabelAnswer::faulty});
  EXPECT_NEAR(likelihood_ratio_of(cases, {}).log_odds, std::log(11.0), 1e-9);
  const auto later = likelihood_ratio_of(cases, WallTime(std::chrono::days(180)));
  EXPECT_NEAR(later.faulty, 5, 1e-9);
  EXPECT_NEAR(later.log_odds, std::log(6.0), 1e-9);
  EXPECT_EQ(likelihood_ratio_of({}, {}).log_odds, 0);
  std::ranges::reverse(cases);
  EXPECT_EQ(likelihood_ratio_of(cases, WallTime(std::chrono::days(180))).log_odds, later.log_odds);
}

TEST(RecallMatrices, cases_move_the_prior) {
  const std::vector<RecallPrior> priors{{"deep", "gpu", 0.5}};
  std::vector<RecallCase> cases(4, {"gpu", {"deep", "cheap"}, {"deep"}});
  const auto matrix = recall_matrix(priors, cases);
  EXPECT_NEAR(recall_of(matrix, "deep", "gpu"), 0.75, 1e-9);
  EXPECT_EQ(recall_of(matrix, "cheap", "gpu"), 0);
  EXPECT_EQ(recall_of(matrix, "deep", "cable"), 0);
  EXPECT_EQ(recall_of(recall_matrix(priors, {}), "deep", "gpu"), 0.5);
}

}  // namespace
}  // namespace autopilot::learning
