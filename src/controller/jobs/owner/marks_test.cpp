// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/owner/marks.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/controller/job_samples.hpp"

namespace autopilot::controller::marks_test {
namespace {

using testing::job_failure;
using testing::job_report;
using testing::kJobTime;

boost::json::object parsed(const std::string& text) {
  return boost::json::parse(text).as_object();
}

TEST(JobMarks, the_health_names_the_culprit_and_the_finding) {
  jobs::JobReport report = job_report();
  report.failure = job_failure();
  report.state.not_seen = {"NCCL RAS: port 28028 refused; set NCCL_RAS_ENABLE=1"};
  const auto mark = parsed(job_health_mark(report));
  EXPECT_EQ(mark.at("health"), "hung");
  EXPECT_EQ(mark.at("effect"), "hang");
  EXPECT_EQ(mark.at("culprit"), "GPU 3 of n1");
  EXPECT_EQ(mark.at("node"), "n1");
  EXPECT_EQ(mark.at("gpu"), 3);
  EXPECT_EQ(mark.at("finding"), "00112233aabbccdd");
  EXPECT_EQ(mark.at("failure"), "hardware");
  EXPECT_EQ(mark.at("notAvailable").as_array().size(), 1);
}

TEST(JobMarks, an_unlocalised_finding_accuses_no_node) {
  jobs::JobReport report = job_report();
  report.findings.front().culprit = {};
  const auto mark = parsed(job_health_mark(report));
  EXPECT_EQ(mark.at("culprit"), "unlocalised");
  EXPECT_FALSE(mark.contains("node"));
}

TEST(JobMarks, a_job_without_a_finding_has_only_its_health) {
  jobs::JobReport report = job_report();
  report.findings.front().resolved = kJobTime;
  report.state.health = jobs::JobHealth::running;
  EXPECT_EQ(job_health_mark(report), R"({"health":"running"})");
}

TEST(JobMarks, are_at_most_4_KiB_whatever_the_texts_contain) {
  jobs::JobReport report = job_report();
  report.findings.front().summary = std::string(9000, '\x01');
  report.state.not_seen = std::vector<std::string>(100, std::string(5000, '\xFF'));
  EXPECT_LE(job_health_mark(report).size(), kMaxMarkBytes);
  jobs::Failure failure = job_failure();
  failure.sentence = std::string(9000, '"');
  failure.not_available = report.state.not_seen;
  EXPECT_LE(job_failure_mark(failure).size(), kMaxMarkBytes);
}

TEST(JobMarks, a_condition_is_added_to_those_of_others_and_not_repeated) {
  const std::string object =
      R"({"metadata":{"resourceVersion":"7"},"status":{"conditions":[{"type":"Suspended","status":"False"}]}})";
  const auto patch = failure_condition_patch(object, job_failure(), kJobTime);
  ASSERT_TRUE(patch) << patch.error().what;
  ASSERT_TRUE(*patch);
  const auto read = parsed(**patch);
  EXPECT_EQ(read.at("metadata").as_object().at("resourceVersion"), "7");
  const auto& conditions = read.at("status").as_object().at("conditions").as_array();
  ASSERT_EQ(conditions.size(), 2);
  EXPECT_EQ(conditions[0].as_object().at("type"), "Suspended");
  EXPECT_EQ(conditions[1].as_object().at("type"), "AutopilotFailure");
  EXPECT_EQ(conditions[1].as_object().at("reason"), "Hardware");
  EXPECT_EQ(conditions[1].as_object().at("message"), "GPU 3 of n1 fell off the bus");

  const auto again = failure_condition_patch(**patch, job_failure(), kJobTime + std::chrono::hours{1});
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again);
  const auto other = failure_condition_patch(**patch, job_failure(jobs::FailureKind::application), kJobTime);
  ASSERT_TRUE(other && *other);
  EXPECT_EQ(parsed(**other).at("status").as_object().at("conditions").as_array().size(), 2);
  EXPECT_FALSE(failure_condition_patch("not JSON", job_failure(), kJobTime));
}

}  // namespace
}  // namespace autopilot::controller::marks_test
