// SPDX-License-Identifier: Apache-2.0
#include "checks/judgement.hpp"

#include <gtest/gtest.h>

namespace autopilot::checks {
namespace {

class JudgementTest : public testing::Test {
 protected:
  History history_;
  Expectation expectation_;
  JudgeInput input_{Instant{}, history_, catalog::builtin(), expectation_};
  Subject gpu_{SubjectKind::gpu, "0000:1b:00.0", 0, "", ""};
};

TEST_F(JudgementTest, a_limit_is_the_catalogs_until_the_operator_says_otherwise) {
  EXPECT_EQ(limit(input_, "gpu.row_remap.uncorrectable_rows").value, 512);
  EXPECT_NE(limit(input_, "gpu.row_remap.uncorrectable_rows").source, "configuration");
  expectation_.thresholds["gpu.row_remap.uncorrectable_rows"] = 100;
  EXPECT_EQ(limit(input_, "gpu.row_remap.uncorrectable_rows").value, 100);
  EXPECT_EQ(limit(input_, "gpu.row_remap.uncorrectable_rows").source, "configuration");
}

TEST_F(JudgementTest, a_learned_limit_is_between_the_catalogs_and_the_operators) {
  constexpr std::string_view kId = "gpu.memory_bandwidth.peak_share";
  const LearnedLimits learned{{std::string(kId), {0.75, "0123456789abcdef"}}};
  input_.learned = &learned;
  const Limit used = limit(input_, kId);
  EXPECT_EQ(used.value, 0.75);
  const Finding finding =
      make_finding(input_, gpu_, "memory_bandwidth_low", Health::degraded, "slow", 0.7, used);
  EXPECT_EQ(finding.message, "slow (threshold learned, version 0123456789abcdef)");
  EXPECT_EQ(learned_version(finding), "0123456789abcdef");
  expectation_.thresholds[std::string(kId)] = 0.5;
  EXPECT_EQ(limit(input_, kId).value, 0.5);
  const Finding own =
      make_finding(input_, gpu_, "memory_bandwidth_low", Health::degraded, "slow", 0.4, limit(input_, kId));
  EXPECT_EQ(own.message, "slow");
  EXPECT_EQ(learned_version(own), "");
}

TEST_F(JudgementTest, a_finding_takes_action_and_worst_health_of_its_reason) {
  const Finding finding = make_finding(input_, gpu_, "row_remap_pending", Health::failed, "text");
  EXPECT_EQ(finding.health, Health::degraded);
  EXPECT_EQ(finding.action, Action::drain_then_reset_gpu);
  EXPECT_EQ(finding.subject, gpu_);
}

TEST_F(JudgementTest, what_was_not_answered_is_unknown_once_for_each_way) {
  const auto missing = [this](const char* name, const char* why) {
    Observation observation;
    observation.name = name;
    observation.subject = gpu_;
    observation.missing = why;
    observation.attributes = {{"error", std::string(name) + " is not told"}};
    return observation;
  };
  Observation answered = missing("answered", "");
  answered.value = 1.0;
  history_.add({answered, missing("a", "not_supported"), missing("b", "unsupported"), missing("c", "denied"),
                missing("d", "malformed"), missing("e", "denied"), missing("f", "not_found")},
               std::chrono::minutes{1});
  Findings findings;
  add_unread(input_, findings);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].reason, "not_permitted");
  EXPECT_EQ(findings[0].message, "c is not told");
  EXPECT_EQ(findings[0].subject, gpu_);
  EXPECT_EQ(findings[1].reason, "malformed_answer");
  EXPECT_EQ(findings[2].reason, "could_not_look");
  for (const Finding& finding : findings)
    EXPECT_EQ(finding.health, Health::unknown);
}

TEST_F(JudgementTest, an_unproven_number_makes_degraded_at_most) {
  Limit own = limit(input_, "gpu.throttle.hw_thermal_share");
  ASSERT_EQ(own.max_health, Health::degraded);
  const Finding finding = make_finding(input_, gpu_, "row_remap_failed", Health::failed, "text", 0.5, own);
  EXPECT_EQ(finding.health, Health::degraded);
  EXPECT_EQ(*find_attribute(finding.evidence, "threshold"), Value{0.05});
  EXPECT_EQ(*find_attribute(finding.evidence, "value"), Value{0.5});
}

TEST_F(JudgementTest, unknown_stays_unknown) {
  EXPECT_EQ(make_finding(input_, gpu_, "could_not_look", Health::unknown, "").health, Health::unknown);
}

TEST(Percent, is_short) {
  EXPECT_EQ(percent(0.42), "42 %");
  EXPECT_EQ(percent(0.0549), "5.5 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(rounded(12.345), "12.3");
  EXPECT_EQ(rounded(512), "512");
}

}  // namespace
}  // namespace autopilot::checks
