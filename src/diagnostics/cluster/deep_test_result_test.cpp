// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_test_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/diagnostics/deep_test_fixture.hpp"

namespace autopilot::diagnostics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kFatalTests{"PCIe", "NVLink", "ECC", "GPU Memory"};

const std::vector<host::DcgmExcuse> kExcuses{{45, "link generation"}, {101, "xid"}};

DeepTestResult result_of(std::string_view message, std::int64_t code = 0) {
  kube::Pod pod;
  pod.phase = code == 0 ? "Succeeded" : "Failed";
  pod.ends = {{std::string(kTestContainer), code, code == 0 ? "Completed" : "Error", std::string(message)}};
  return deep_test_result(pod, kFatalTests, kExcuses);
}

std::string one_failure(const std::string& test) {
  return R"({"deep_test":1,"tests":[{"name":")" + test + R"(","status":"fail","gpus":[3]}],"gpus":{"3":""}})";
}

TEST(DeepTestResult, passes_for_every_gpu) {
  const DeepTestResult result = result_of(kPassed);
  EXPECT_EQ(result.outcome, DeepTestOutcome::passed);
  EXPECT_THAT(result.passed_gpus(), ElementsAre(host::DcgmGpu{0, "S0"}, host::DcgmGpu{1, "S1"}));
  EXPECT_EQ(result.failed, "");
}

TEST(DeepTestResult, a_failure_is_one_of_the_gpus_it_names) {
  const DeepTestResult result = result_of(kFailed, 1);
  EXPECT_EQ(result.outcome, DeepTestOutcome::failed);
  EXPECT_EQ(result.failed, "targeted_power.1");
  EXPECT_THAT(result.passed_gpus(), ElementsAre(host::DcgmGpu{0, "S0"}));
}

TEST(DeepTestResult, the_list_says_what_is_fatal) {
  EXPECT_EQ(result_of(kFatal, 1).outcome, DeepTestOutcome::fatal);  // DCGM 4 calls it memory
  for (const std::string test : {"GPU Memory", "PCIe", "pcie", "NVLink", "Memory/ECC"})
    EXPECT_EQ(result_of(one_failure(test), 1).outcome, DeepTestOutcome::fatal) << test;
  for (const std::string test : {"Memory Bandwidth", "memory_bandwidth", "software", "Targeted Power",
                                 "host_bandwidth", "peer_bandwidth", "arithmetic_speed", "compute", "sdc"})
    EXPECT_EQ(result_of(one_failure(test), 1).outcome, DeepTestOutcome::failed) << test;
  EXPECT_EQ(result_of(one_failure("Page Retirement/Row Remap"), 1).failed, "page_retirement_row_remap.3");
}

TEST(DeepTestResult, an_error_that_is_excused_makes_no_test_fatal) {
  const DeepTestResult result = result_of(
      R"({"deep_test":1,"tests":[{"name":"pcie","status":"fail","gpus":[1],"error":101,"message":"Detected XID 45"}],"gpus":{"0":"","1":""}})",
      1);
  EXPECT_EQ(result.outcome, DeepTestOutcome::failed);
  EXPECT_EQ(result.failed, "dcgm_error_101.1");
  EXPECT_THAT(result.passed_gpus(), ElementsAre(host::DcgmGpu{0, ""}));
}

// What stands on the node must tell apart which of the two was fatal.
TEST(DeepTestResult, an_excuse_of_one_gpu_is_none_for_another) {
  const DeepTestResult result = result_of(
      R"({"deep_test":1,"tests":[{"name":"pcie","status":"fail","gpus":[0],"error":45,"message":"PCI link generation 3"},
          {"name":"pcie","status":"fail","gpus":[1],"error":45,"message":"bandwidth of 5.2"}],"gpus":{"0":"","1":""}})",
      1);
  EXPECT_EQ(result.outcome, DeepTestOutcome::fatal);
  EXPECT_EQ(result.failed, "dcgm_error_45.0,pcie.1");
}

TEST(DeepTestResult, a_failure_counts_even_where_not_all_was_tested) {
  const DeepTestResult result = result_of(
      R"({"deep_test":1,"problem":"7 of 8 GPUs","tests":[{"name":"pcie","status":"fail","gpus":[1]}],"gpus":{"0":"","1":""}})",
      1);
  EXPECT_EQ(result.outcome, DeepTestOutcome::fatal);
  EXPECT_THAT(result.passed_gpus(), IsEmpty());
}

TEST(DeepTestResult, nothing_is_known_without_a_whole_answer) {
  EXPECT_THAT(result_of("", 137).why, HasSubstr("it ended with 137 Error and left no result"));
  EXPECT_EQ(result_of("", 0).outcome, DeepTestOutcome::not_tested);
  EXPECT_EQ(result_of(kPassed, 137).why, "it ended with 137 Error");
  EXPECT_EQ(result_of(kPassed, 1).outcome, DeepTestOutcome::not_tested);
  const auto skipped = result_of(R"({"deep_test":1,"tests":[{"name":"a","status":"skip"}],"gpus":{"0":""}})");
  EXPECT_EQ(skipped.why, "every test was skipped");
  const auto refused = result_of(R"({"deep_test":1,"problem":"MIG is enabled","tests":[],"gpus":{}})", 2);
  EXPECT_EQ(refused.outcome, DeepTestOutcome::not_tested);
  EXPECT_EQ(refused.why, "MIG is enabled");
  EXPECT_EQ(deep_test_result(kube::Pod{}, kFatalTests, kExcuses).why, "its pod ended before it began");
}

TEST(DeepTestResult, what_had_no_room_may_be_as_bad_as_the_last_that_had) {
  const DeepTestResult result = result_of(
      R"({"deep_test":1,"tests":[{"name":"a","status":"fail","gpus":[1]}],"left_out":3,"gpus":{"0":"","1":""}})",
      1);
  EXPECT_EQ(result.outcome, DeepTestOutcome::failed);
  EXPECT_THAT(result.passed_gpus(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::diagnostics
