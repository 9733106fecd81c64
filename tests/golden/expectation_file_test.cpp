// SPDX-License-Identifier: Apache-2.0
#include "golden/expectation_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::golden {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(GoldenExpectation, ReadsWhatItWrites) {
  Outcome outcome;
  outcome.health = "degraded";
  outcome.findings = {{"gpu/0000:1b:00.0", "degraded", "row_remap_pending", "drain_then_reset_gpu", false}};
  outcome.witnesses = {"nvml", "/dev/kmsg"};
  outcome.looked_at = {{"gpu", 8}, {"host", 1}};
  outcome.standing = {{"mount//", "failed", "filesystem_full", "none", true}};
  const std::string before = "given:\n  gpu_count: 8\nhealth: healthy\n";
  const std::string text = format_outcome(outcome, before);
  const auto parsed = parse_expectation(text, "expect.yaml");
  ASSERT_TRUE(parsed) << parsed.error().what << text;
  EXPECT_EQ(difference(parsed->outcome, outcome), "");
  EXPECT_EQ(parsed->given.gpu_count, 8);
}

TEST(GoldenExpectation, NobodyWhoCouldNotLookHasWitnesses) {
  Outcome outcome;
  outcome.health = "unknown";
  outcome.error = "timed_out";
  outcome.findings = {{"host", "unknown", "timed_out", "none", false}};
  const std::string text = format_outcome(outcome, "");
  EXPECT_THAT(text, HasSubstr("error: timed_out\nfindings:\n  - {subject: host, health: unknown"));
  EXPECT_THAT(text, Not(HasSubstr("witnesses")));
  const auto parsed = parse_expectation(text, "expect.yaml");
  ASSERT_TRUE(parsed) << parsed.error().what;
  EXPECT_EQ(difference(parsed->outcome, outcome), "");
}

TEST(GoldenExpectation, ShowsWhatDiffers) {
  Outcome expected;
  expected.health = "healthy";
  Outcome actual = expected;
  actual.health = "failed";
  actual.standing.emplace();
  EXPECT_EQ(difference(expected, actual), "  - health: healthy\n  + health: failed\n");
  EXPECT_FALSE(parse_expectation("health: healthy\ncolour: red\n", "expect.yaml"));
}

}  // namespace
}  // namespace autopilot::golden
