// SPDX-License-Identifier: Apache-2.0
#include "api/jobs_v1.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include "tests/support/api/job_samples.hpp"

namespace autopilot::api::jobs_v1_test {
namespace {

using api::testing::sample_job;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(JobsV1, a_job_with_everything_comes_back_as_it_was) {
  const jobs::JobReport written = sample_job();
  const auto read = parse_job(to_json(written, true));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(*read, true), to_json(written, true));
  EXPECT_EQ(read->findings[0].culprit, written.findings[0].culprit);
  EXPECT_EQ(read->findings[1].culprit, written.findings[1].culprit);
  EXPECT_EQ(read->findings[0].decision.choice, jobs::Choice::stop_now);
  EXPECT_EQ(read->failure->kind, jobs::FailureKind::hardware);
  EXPECT_EQ(read->feedback[0].verdict, jobs::Verdict::refuted);
  EXPECT_EQ(read->nodes, written.nodes);
  EXPECT_EQ(read->outcome, jobs::Outcome::failed);
  EXPECT_EQ(jobs::sentence_of(*read->afterwards), jobs::sentence_of(*written.afterwards));
  EXPECT_EQ(read->afterwards->not_passed[0].failed[0].gpu, "1650123");
}

TEST(JobsV1, a_job_without_anything_comes_back_as_it_was) {
  jobs::JobReport written;
  written.state.job = "j";
  const auto read = parse_job(to_json(written, false));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(*read, false), to_json(written, false));
  EXPECT_FALSE(read->failure || read->ended || read->outcome || read->state.step);
}

TEST(JobsV1, a_list_has_open_findings_only_and_a_bounded_number_of_ranks) {
  JobList list{.node = "n", .jobs = {sample_job()}, .sources = {"processes"}, .not_seen = {"logs: why"}};
  list.jobs[0].findings[0].ranks.assign(4096, 7);
  const auto read = parse_jobs(to_json(list));
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_THAT(read->jobs, SizeIs(1));
  ASSERT_THAT(read->jobs[0].findings, SizeIs(1));
  EXPECT_THAT(read->jobs[0].findings[0].ranks, SizeIs(kListedRanks));
  EXPECT_THAT(read->jobs[0].nodes, SizeIs(0));
  EXPECT_EQ(read->jobs[0].state.nodes, 2);
  EXPECT_EQ(read->not_seen, list.not_seen);
}

TEST(JobsV1, losses_that_are_not_finite_are_left_out) {
  jobs::JobReport job = sample_job();
  job.findings[0].decision.loss_now = std::numeric_limits<double>::infinity();
  const std::string json = to_json(job, false);
  EXPECT_THAT(json, Not(HasSubstr("inf")));
  EXPECT_TRUE(parse_job(json));
}

TEST(JobsV1, a_wrong_value_is_named_with_its_path) {
  std::string json = to_json(sample_job(), false);
  json.replace(json.find("\"hang\""), 6, "\"hung\"");
  const auto read = parse_job(json);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::malformed);
  EXPECT_THAT(read.error().what, HasSubstr("findings[0].effect"));
}

TEST(JobsV1, requests_come_back_as_they_were) {
  const JobFeedbackRequest feedback{
      .finding = "1f", .verdict = jobs::Verdict::confirmed, .note = "a bad cable"};
  EXPECT_EQ(parse_job_feedback(to_json(feedback)).value().note, "a bad cable");
  EXPECT_EQ(parse_job_ack(to_json(JobAckRequest{.finding = "1f"})).value().finding, "1f");
  const auto mute = parse_job_mute(to_json(JobMuteRequest{.job = "ml/a", .duration = std::chrono::hours(2)}));
  EXPECT_EQ(mute.value().duration, std::chrono::hours(2));
}

TEST(JobsV1, requests_beyond_the_limits_are_refused) {
  const std::string long_note(1025, 'a');
  for (const std::string& body : {std::string(), std::string("[]"), std::string(R"({"finding":""})"),
                                  std::string(R"({"finding":"1","verdict":"maybe"})"),
                                  R"({"finding":"1","verdict":"unclear","note":")" + long_note + "\"}",
                                  std::string(R"({"finding":"1","verdict":"unclear","extra":1})")})
    EXPECT_FALSE(parse_job_feedback(body)) << body;
  for (const char* body : {R"({"job":"a","seconds":-1})", R"({"job":"a","seconds":2592001})",
                           R"({"job":"","seconds":1})", R"({"job":"a"})"})
    EXPECT_FALSE(parse_job_mute(body)) << body;
  EXPECT_FALSE(parse_job_ack(R"({"finding":7})"));
}

}  // namespace
}  // namespace autopilot::api::jobs_v1_test
