// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/memory/recall.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "controller/jobs/reports/job_report_fact.hpp"
#include "tests/support/controller/job_samples.hpp"

namespace autopilot::controller::recall_test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using testing::job_report;
using testing::kJobTime;
using ::testing::Not;
using ::testing::SizeIs;

kube::JobHealthReport stored_report() {
  kube::JobHealthReport stored = job_report_fact(job_report(), kJobTime);
  stored.meta.name_space = "ml";
  stored.meta.name = kube::job_health_report_name(stored.job);
  return stored;
}

Result<RecalledJob> recall(const kube::JobHealthReport& stored) {
  return recall_job(stored, "autopilot", kJobTime + 1min);
}

TEST(JobRecalls, a_report_names_its_job_and_what_was_known) {
  const auto recalled = recall(stored_report());
  ASSERT_TRUE(recalled) << recalled.error().what;
  EXPECT_THAT(recalled->problem, IsEmpty());
  const jobs::JobReport& report = recalled->report;
  EXPECT_EQ(report.state.job, "ml/train-7f3a");
  EXPECT_EQ(report.state.name, "train");
  EXPECT_EQ(report.owner, "Job ml/train");
  EXPECT_EQ(report.nodes, job_report().nodes);
  EXPECT_EQ(report.started, job_report().started);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].culprit, job_report().findings[0].culprit);
}

TEST(JobRecalls, a_report_of_another_namespace_or_name_is_refused) {
  kube::JobHealthReport foreign = stored_report();
  foreign.meta.name_space = "evil";
  EXPECT_FALSE(recall(foreign));
  foreign.meta.name_space = "m";
  EXPECT_FALSE(recall(foreign));
  foreign = stored_report();
  foreign.meta.name = "another";
  EXPECT_FALSE(recall(foreign));
  foreign.meta.name_space = "autopilot";
  foreign.meta.name = stored_report().meta.name;
  EXPECT_TRUE(recall(foreign)) << "jobs without a confirmed namespace have their report there";
}

TEST(JobRecalls, a_recorded_action_counts_although_the_leader_ended_before_it_was_stored) {
  kube::JobHealthReport stored = stored_report();
  stored.actions["00112233aabbccdd"] = {
      .choice = "stop_now", .state = "planned", .message = {}, .steps = {}, .time = kJobTime};
  stored.actions["old"] = {
      .choice = "stop_now", .state = "done", .message = {}, .steps = {}, .time = kJobTime - 25h};
  stored.actions["failed"] = {
      .choice = "stop_now", .state = "failed", .message = {}, .steps = {}, .time = kJobTime};
  stored.actions["strange"] = {.choice = "x", .state = "done", .message = {}, .steps = {}, .time = kJobTime};
  const auto recalled = recall(stored);
  ASSERT_TRUE(recalled);
  ASSERT_THAT(recalled->report.done, SizeIs(1));
  EXPECT_EQ(recalled->report.done[0].choice, jobs::Choice::stop_now);
  EXPECT_EQ(recalled->report.done[0].culprit.node, "n1");
  EXPECT_EQ(recalled->report.done[0].cause, "xid_79");
  EXPECT_FALSE(recalled->report.done[0].waits);
}

TEST(JobRecalls, actions_count_although_the_memory_is_malformed) {
  kube::JobHealthReport stored = stored_report();
  stored.memory = R"({"version":7})";
  stored.actions["00112233aabbccdd"] = {
      .choice = "swap_at_checkpoint", .state = "waiting", .message = {}, .steps = {}, .time = kJobTime + 10h};
  const auto recalled = recall(stored);
  ASSERT_TRUE(recalled);
  EXPECT_THAT(recalled->problem, Not(IsEmpty()));
  EXPECT_THAT(recalled->report.findings, IsEmpty());
  ASSERT_THAT(recalled->report.done, SizeIs(1));
  EXPECT_TRUE(recalled->report.done[0].waits);
  EXPECT_EQ(recalled->report.done[0].time, kJobTime + 1min);
}

}  // namespace
}  // namespace autopilot::controller::recall_test
