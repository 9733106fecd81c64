// SPDX-License-Identifier: Apache-2.0
#include "job_hub/job_outcome.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "api/jobs_v1.hpp"
#include "tests/support/api/job_samples.hpp"

namespace autopilot::job_hub {
namespace {

constexpr const char* kLlama = "ml/llama-7f3a";

TEST(JobOutcome, has_what_a_validation_needs_and_no_details) {
  const jobs::JobReport report = api::testing::sample_job();
  const auto outcome = outcome_for(report, "gpu-002", kLlama);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ended, report.ended);
  EXPECT_EQ(outcome->outcome, jobs::Outcome::failed);
  EXPECT_EQ(outcome->failure->sentence, report.failure->sentence);
  ASSERT_EQ(outcome->findings.size(), 2U);
  EXPECT_EQ(outcome->findings[1].culprit, report.findings[1].culprit);
  EXPECT_TRUE(outcome->findings[0].evidence.empty());
  EXPECT_TRUE(outcome->findings[0].ranks.empty());
  EXPECT_TRUE(outcome->feedback.empty());
  EXPECT_THAT(outcome->nodes, ::testing::ElementsAre("gpu-001", "gpu-002"));
  EXPECT_TRUE(api::parse_job(api::to_json(*outcome, false)));
}

TEST(JobOutcome, what_no_record_confirms_is_not_told) {
  jobs::JobReport report = api::testing::sample_job();
  report.findings[0].is_confirmed = false;
  EXPECT_EQ(outcome_for(report, "gpu-001", kLlama)->findings.size(), 1U);
}

TEST(JobOutcome, is_of_a_key_and_a_node_of_the_job) {
  const jobs::JobReport report = api::testing::sample_job();
  EXPECT_EQ(outcome_for(report, "gpu-003", kLlama).error().code, Errc::not_found);
  EXPECT_EQ(outcome_for(report, "gpu-001", "llama").error().code, Errc::not_found) << "a display name";
  EXPECT_EQ(outcome_for(fail(Errc::not_found, "no such job"), "gpu-001", kLlama).error().code,
            Errc::not_found);
}

TEST(JobOutcome, of_a_big_job_fits_an_answer_and_has_the_suspected_nodes) {
  jobs::JobReport report = api::testing::sample_job();
  report.findings.resize(1);
  report.findings[0].culprit = {jobs::EntityKind::nic, "node-4090", -1, "mlx5_0"};
  report.findings.insert(report.findings.end(), 500, report.findings[0]);
  report.nodes.clear();
  for (int node = 5000; node >= 1000; --node)
    report.nodes.push_back("node-" + std::to_string(node));
  const auto outcome = outcome_for(report, "node-1500", kLlama);
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->nodes.size(), kMostOutcomeNodes);
  EXPECT_EQ(outcome->nodes.front(), "node-1000");
  EXPECT_EQ(outcome->nodes.back(), "node-4090");
  EXPECT_TRUE(std::ranges::is_sorted(outcome->nodes));
  EXPECT_LT(api::to_json(*outcome, false).size(), std::size_t{64} << 10);
}

}  // namespace
}  // namespace autopilot::job_hub
