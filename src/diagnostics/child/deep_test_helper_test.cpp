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

}  // namespace
}  // namespace autopilot::diagnostics
