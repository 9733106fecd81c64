// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/deep_test_helper.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::diagnostics {

namespace {

using ::testing::HasSubstr;

std::string document(std::string_view status) {
  return R"({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [{"name": "memory", "results": [
    {"entity_group": "GPU", "entity_id": 0, "status": ")" +
         std::string(status) + R"("}]}]}]}})";
}

host::ChildReport ended(int code, std::string output, std::string errors = {}) {
  return {.end = host::ChildEnd::exited,
          .status = {.was_signalled = false, .code = code},
          .was_abandoned = false,
          .output = std::move(output),
          .errors = std::move(errors),
          .dropped_bytes = 0};
}

TEST(DeepTestHelper, the_document_says_what_failed_whatever_the_exit_code) {
  EXPECT_EQ(exit_code_of(read_deep_test(ended(0, document("Pass")), 1)), 0);
  EXPECT_EQ(exit_code_of(read_deep_test(ended(226, document("Fail")), 1)), 1);
  EXPECT_EQ(exit_code_of(read_deep_test(ended(0, document("Fail")), 1)), 1);
}

TEST(DeepTestHelper, what_was_not_tested_did_not_pass) {
  EXPECT_EQ(exit_code_of(read_deep_test(ended(0, document("Skip")), 1)), 2);
  const auto few = read_deep_test(ended(0, document("Pass")), 8);
  EXPECT_EQ(few.problem, "1 of 8 GPUs were tested");
  EXPECT_EQ(exit_code_of(few), 2);
  EXPECT_EQ(exit_code_of(read_deep_test(ended(1, document("Fail")), 8)), 1);  // what failed, failed
  const auto odd = read_deep_test(ended(3, document("Pass"), "host engine lost\n"), 1);
  EXPECT_EQ(odd.problem, "exit code 3, but no test failed: host engine lost");
  EXPECT_EQ(exit_code_of(odd), 2);
}

TEST(DeepTestHelper, a_gpu_that_was_skipped_is_not_among_the_tested) {
  const std::string_view skips =
      R"({"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
    {"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 0, "status": "Pass"},
                                   {"entity_group": "GPU", "entity_id": 1, "status": "Skip"}]}]}]}})";
  EXPECT_EQ(read_deep_test(ended(0, std::string(skips)), 2).problem, "1 of 2 GPUs were tested");
}

TEST(DeepTestHelper, says_why_it_cannot_say_anything) {
  EXPECT_THAT(read_deep_test(ended(1, "", "dcgmi: cannot connect\n"), 1).problem,
              HasSubstr("exit code 1, no JSON of a DCGM diagnostic: dcgmi: cannot connect"));
  host::ChildReport late = ended(0, document("Pass"));
  late.end = host::ChildEnd::timed_out;
  EXPECT_EQ(read_deep_test(late, 1).problem, "the test did not end in time");
  host::ChildReport killed = ended(9, "");
  killed.end = host::ChildEnd::signalled;
  killed.status.was_signalled = true;
  EXPECT_THAT(read_deep_test(killed, 1).problem, HasSubstr("signal 9"));
  const auto refused = R"({"DCGM Diagnostic": {"runtime_error": "MIG is enabled"}})";
  EXPECT_EQ(read_deep_test(ended(1, refused), 1).problem, "MIG is enabled");
}

int run_deep_test(const std::vector<std::string>& arguments) {
  return diagnostics::run_deep_test(arguments, [](const auto&, MonoTime) { return DeepTestSummary{}; });
}

TEST(DeepTestHelper, leaves_its_summary_in_the_file) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/message";
  const auto left = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(run_deep_test({"--output", path, "--gpus", "1", "--", "printf", "%s", document("Pass")}), 0);
  EXPECT_EQ(left(),
            R"({"deep_test":1,"tests":[{"name":"memory","status":"pass","gpus":[0]}],"gpus":{"0":""}})");
  EXPECT_EQ(run_deep_test({"--output", path, "--", "/nowhere/dcgmi", "diag"}), 2);
  EXPECT_THAT(left(), HasSubstr("/nowhere/dcgmi"));
  EXPECT_EQ(run_deep_test({"--output", path, "--deadline", "50ms", "--", "sleep", "60"}), 2);
  EXPECT_THAT(left(), HasSubstr("did not end in time"));
  EXPECT_EQ(run_deep_test({"--output", folder.path(), "--", "true"}), 2);
}

TEST(DeepTestHelper, leaves_what_our_own_test_says_as_well) {
  const host::TestFolder folder;
  const std::string path = folder.path() + "/message";
  DeepTestSummary said;
  std::vector<std::string> heard;
  const auto run = [&](const std::string& gpus) {
    return diagnostics::run_deep_test(
        {"--output", path, "--gpus", gpus, "--tests", "own", "--", "--seconds", "5"},
        [&](const std::vector<std::string>& arguments, MonoTime) {
          heard = arguments;
          return said;
        });
  };
  said.tests = {{.name = "sdc", .status = host::DcgmStatus::pass, .gpus = {0, 1}, .message = {}}};
  said.gpus = {{0, "S0"}, {1, "S1"}};
  EXPECT_EQ(run("2"), 0);
  EXPECT_THAT(heard, ::testing::ElementsAre("--seconds", "5"));
  std::ifstream file(path);
  EXPECT_EQ(parse_deep_test_summary(std::string(std::istreambuf_iterator<char>(file), {})).value(), said);
  EXPECT_EQ(run("3"), 2) << "one GPU was not tested";
  said.tests.front().status = host::DcgmStatus::fail;
  EXPECT_EQ(run("3"), 1) << "what failed, failed";
  said = {};
  said.problem = "NVIDIA's driver lists no GPU";
  EXPECT_EQ(run("0"), 2);
}

TEST(DeepTestHelper, refuses_what_it_does_not_understand) {
  EXPECT_EQ(run_deep_test({}), 2);
  EXPECT_EQ(run_deep_test({"--output", "/dev/null"}), 2);
  EXPECT_EQ(run_deep_test({"--output", "/dev/null", "--deadline", "soon", "--", "true"}), 2);
  EXPECT_EQ(run_deep_test({"--output", "/dev/null", "--gpus", "-1", "--", "true"}), 2);
  EXPECT_EQ(run_deep_test({"--output"}), 2);
  EXPECT_EQ(run_deep_test({"--output", "/dev/null", "--tests", "ours", "--", "true"}), 2);
  EXPECT_EQ(run_deep_test({"--", "true"}), 2);
}

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
