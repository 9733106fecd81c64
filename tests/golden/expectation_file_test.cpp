// SPDX-License-Identifier: Apache-2.0
#include "golden/expectation_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::golden {
namespace {

using testing::HasSubstr;

TEST(GoldenExpectation, ReadsWhatItWrites) {
  Outcome outcome;
  outcome.health = "degraded";
  outcome.findings = {{"gpu/0000:1b:00.0", "degraded", "row_remap_pending", "drain_then_reset_gpu", false}};
  outcome.witnesses = {"nvml", "/dev/kmsg"};
  outcome.standing = {{"mount//", "failed", "filesystem_full", "none", true}};
  const std::string before = "given:\n  gpu_count: 8\nhealth: healthy\n";
  const std::string text = format_outcome(outcome, before);
  const auto parsed = parse_expectation(text, "expect.yaml");
  ASSERT_TRUE(parsed) << parsed.error().what << text;
  EXPECT_EQ(difference(parsed->outcome, outcome), "");
  EXPECT_EQ(parsed->given.gpu_count, 8);
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
