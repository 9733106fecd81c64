// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/deep_test_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using OneTest = DeepTestSummary::Test;

host::DcgmResult result(std::string test, std::vector<std::uint32_t> gpus, host::DcgmStatus status,
                        std::string message = {}) {
  host::DcgmResult one{.category = {},
                       .test = std::move(test),
                       .gpus = std::move(gpus),
                       .entity = {},
                       .status = status,
                       .messages = {}};
  if (!message.empty()) one.messages.push_back({std::move(message), {}});
  return one;
}

TEST(DeepTestSummary, a_test_is_as_its_bad_gpus) {
  host::DcgmDiagnosis diagnosis;
  diagnosis.gpus = {{0, "S0"}, {1, ""}};
  diagnosis.results = {result("software", {}, host::DcgmStatus::pass),
                       result("memory", {0}, host::DcgmStatus::pass),
                       result("memory", {1}, host::DcgmStatus::fail, "bad cell"),
                       result("memory", {2}, host::DcgmStatus::fail, "another"),
                       result("memory", {3}, host::DcgmStatus::warn, "a page was remapped"),
                       result("pcie", {0}, host::DcgmStatus::warn, "slow"),
                       result("eud", {0}, host::DcgmStatus::skip)};
  const DeepTestSummary summary = summary_of(diagnosis);
  const std::vector<OneTest> expected{{"memory", host::DcgmStatus::fail, {1, 2}, "bad cell"},
                                      {"memory", host::DcgmStatus::warn, {3}, "a page was remapped"},
                                      {"pcie", host::DcgmStatus::warn, {0}, "slow"},
                                      {"software", host::DcgmStatus::pass, {}, ""},
                                      {"eud", host::DcgmStatus::skip, {0}, ""}};
  EXPECT_EQ(summary.tests, expected);
  EXPECT_THAT(summary.gpus, ElementsAre(host::DcgmGpu{0, "S0"}, host::DcgmGpu{1, ""}));
  EXPECT_EQ(summary.problem, "");
}

TEST(DeepTestSummary, says_what_else_a_test_is_about) {
  host::DcgmDiagnosis diagnosis;
  diagnosis.results = {result("cpu_eud", {}, host::DcgmStatus::fail, "too hot")};
  diagnosis.results[0].entity = "CPU 1";
  EXPECT_EQ(summary_of(diagnosis).tests[0].message, "CPU 1: too hot");
}

TEST(DeepTestSummary, what_is_written_is_read_again) {
  const DeepTestSummary summary{.problem = "7 of 8 GPUs",
                                .tests = {{"memory", host::DcgmStatus::fail, {1, 2}, "bad \"cell\"\n"},
                                          {"pcie", host::DcgmStatus::pass, {}, ""}},
                                .left_out = 2,
                                .gpus = {{0, "S0"}, {1, ""}}};
  const auto again = parse_deep_test_summary(format_deep_test_summary(summary));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(*again, summary);
}

TEST(DeepTestSummary, never_has_more_bytes_than_a_termination_message_and_keeps_failures) {
  DeepTestSummary summary;
  for (std::uint32_t i = 0; i < 60; ++i) {
    OneTest test{"a test with a long name, number " + std::to_string(i),
                 host::DcgmStatus::fail,
                 {},
                 std::string(160, '"')};
    if (i >= 20) test.status = host::DcgmStatus::pass;
    for (std::uint32_t gpu = 0; gpu < 16; ++gpu)
      test.gpus.push_back(gpu);
    summary.tests.push_back(test);
  }
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu)
    summary.gpus.push_back({gpu, "1650000000000"});
  const std::string text = format_deep_test_summary(summary);
  EXPECT_LE(text.size(), kMaxDeepTestSummary);
  const auto again = parse_deep_test_summary(text);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_GE(again->tests.size(), 20U);
  EXPECT_EQ(again->tests.size() + again->left_out, 60U);
  EXPECT_EQ(again->tests[0].status, host::DcgmStatus::fail);
  EXPECT_EQ(again->gpus, summary.gpus);

  summary.tests.resize(1);
  for (std::uint32_t gpu = 0; gpu < 256; ++gpu)
    summary.gpus.push_back({gpu, "1650000000000"});
  const auto crowded = parse_deep_test_summary(format_deep_test_summary(summary));
  ASSERT_TRUE(crowded) << crowded.error().what;
  EXPECT_THAT(crowded->tests, SizeIs(1));
}

TEST(DeepTestSummary, cuts_no_character_in_half) {
  host::DcgmDiagnosis diagnosis;
  std::string message(159, 'x');
  message += "\xc3\xa9";
  diagnosis.results = {result("memory", {1}, host::DcgmStatus::fail, message)};
  EXPECT_EQ(summary_of(diagnosis).tests[0].message, std::string(159, 'x'));
}

TEST(DeepTestSummary, what_is_none_is_refused) {
  for (const std::string_view text :
       {"", "OOM", "{}", "[]", R"({"deep_test":1})", R"({"deep_test":1,"tests":[]})",
        R"({"deep_test":1,"tests":[{"name":"a","status":"great"}],"gpus":{}})",
        R"({"deep_test":1,"tests":[{"name":"a","status":"pass","gpus":["0"]}],"gpus":{}})",
        R"({"deep_test":1,"tests":[{"status":"pass"}],"gpus":{}})",
        R"({"deep_test":1,"tests":[],"gpus":{"x":""}})"})
    EXPECT_FALSE(parse_deep_test_summary(text)) << text;
  EXPECT_FALSE(parse_deep_test_summary(std::string(kMaxDeepTestSummary + 1, ' ')));
  EXPECT_THAT(parse_deep_test_summary(R"({"deep_test":1,"tests":[],"gpus":{}})")->tests, IsEmpty());
}

}  // namespace
}  // namespace autopilot::diagnostics
