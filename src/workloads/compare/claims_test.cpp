// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/claims.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::workloads::compare {
namespace {

using ::testing::HasSubstr;

Series measured(std::string metric, std::string subject, std::string unit, std::vector<double> values) {
  Series series;
  series.metric = std::move(metric);
  series.subject = std::move(subject);
  series.unit = std::move(unit);
  series.source = {"file.csv", 2, 10, 3, series.metric};
  series.values = std::move(values);
  return series;
}

Side side_a() {
  Side side;
  side.letter = "A";
  side.name = "Satori";
  side.series = {measured("cpu.user", "", "%", {1, 1, 1, 20}),
                 measured("gpu.util", "GPU 0", "%", {40, 22, 31}),
                 measured("gpu.util", "GPU 1", "%", {0, 0, 0}),
                 measured("gpu.memory_busy", "GPU 0", "%", {50, 52}),
                 measured("gpu.memory_busy", "GPU 1", "%", {0, 0}),
                 measured("mem.used_percent", "", "%", {15.886}),
                 measured("mem.used", "", "kB", {94996986}),
                 measured("mem.total", "", "kB", {598008704}),
                 measured("mem.available", "", "kB", {567723200, 561289216})};
  return side;
}

std::vector<CheckedClaim> checked(const std::string& markdown) {
  const Side a = side_a();
  Side b;
  b.letter = "B";
  b.name = "OpenShift";
  std::vector<CheckedClaim> found;
  for (const Claim& claim : claims_in_markdown(markdown, "REPORT.md", a, b))
    found.push_back(check_claim(claim, a, b));
  return found;
}

TEST(MarkdownClaims, the_heading_names_what_a_sentence_does_not) {
  const auto found = checked("# Running on Satori\n## CPU usage\nIt consumes 20 % on average.\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].verdict, ClaimVerdict::refuted);
  EXPECT_EQ(found[0].claim.source.first_line, 3);
  EXPECT_NEAR(*found[0].measured, 5.75, 1e-9);
  EXPECT_THAT(found[0].explanation, HasSubstr("near the maximum"));
}

TEST(MarkdownClaims, a_size_must_be_exact_and_the_likely_mistake_is_named) {
  const auto found = checked(
      "# Satori\n## Memory usage\nIt is around 15%. This is around 84 GB used of 541 GB available.\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].verdict, ClaimVerdict::holds);
  EXPECT_EQ(found[1].verdict, ClaimVerdict::holds);
  EXPECT_EQ(found[1].claim.metric, "mem.used");
  EXPECT_EQ(found[2].verdict, ClaimVerdict::refuted);
  EXPECT_THAT(found[2].explanation, HasSubstr("570.3 GiB"));
  EXPECT_THAT(found[2].explanation, HasSubstr("the first reading of mem.available (541.4 GiB)"));
}

TEST(MarkdownClaims, unused_gpus_do_not_count_and_memory_utilisation_is_explained) {
  const auto found =
      checked("# Satori\nThe GPU is 31% utilized. The GPU memory usage stays between 45-55%.\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].verdict, ClaimVerdict::holds);
  EXPECT_EQ(found[1].verdict, ClaimVerdict::holds);
  EXPECT_EQ(found[1].claim.low, 45);
  EXPECT_THAT(found[1].explanation, HasSubstr("not how much memory is occupied"));
}

TEST(MarkdownClaims, rates_code_tables_and_comments_are_no_claims) {
  EXPECT_TRUE(
      checked(
          "# Satori\nNVLink has 200GB/s.\n```\nCPU 50 %\n```\n| CPU | 50 % |\n<!-- CPU 50 % -->\nv100 3GBs\n")
          .empty());
}

TEST(MarkdownClaims, without_a_side_or_a_metric_a_claim_is_not_tested) {
  const auto found = checked("The CPU is at 5 %.\n# OpenShift\nThe CPU is at 5 %. Sales grew by 5 %.\n");
  ASSERT_EQ(found.size(), 3U);
  for (const CheckedClaim& one : found)
    EXPECT_EQ(one.verdict, ClaimVerdict::untested);
  EXPECT_THAT(found[1].explanation, HasSubstr("No file of B has cpu.user"));
}

TEST(YamlClaims, a_claim_states_side_metric_statistic_and_tolerance) {
  const auto claims = parse_claims(
      "claims:\n  - {side: A, metric: cpu.user, statistic: max, value: 19, unit: \"%\", tolerance: 0.1}\n",
      "claims.yaml");
  ASSERT_TRUE(claims) << claims.error().what;
  EXPECT_EQ(check_claim(claims->at(0), side_a(), {}).verdict, ClaimVerdict::holds);
  const auto wrong =
      parse_claims("claims:\n  - {side: C, metric: x, value: 1, unit: s, statistic: mode}\n", "claims.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what, HasSubstr("claims.yaml:2: side must be A or B"));
}

}  // namespace
}  // namespace autopilot::workloads::compare
