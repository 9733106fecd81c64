// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/cluster/deep_test_job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/diagnostics/deep_test_fixture.hpp"

namespace autopilot::diagnostics {

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

json::value job_of(const DeepTestJobSettings& settings) {
  return json::parse(deep_test_job(
      settings,
      {.node = kNode, .since = kBegin, .devices = {{"nvidia.com/gpu", 4}}, .deadline = 10min + 500ms}));
}

std::string at(const json::value& job, std::string_view pointer) {
  return json::serialize(job.at_pointer({pointer.data(), pointer.size()}));
}

const std::string kPod = "/spec/template/spec";

TEST(DeepTestJob, is_placed_by_the_scheduler_on_that_node_with_all_it_has) {
  const json::value job = job_of(deep_test_policy().job);
  EXPECT_EQ(
      at(job,
         kPod + "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms"),
      R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-7"]}]}])");
  EXPECT_FALSE(job.at_pointer(kPod).as_object().contains("nodeName"));
  EXPECT_EQ(at(job, kPod + "/containers/0/resources"),
            R"({"requests":{"nvidia.com/gpu":"4"},"limits":{"nvidia.com/gpu":"4"}})");
  EXPECT_EQ(at(job, kPod + "/tolerations"),
            R"([{"key":"autopilot.ibm.com/testing","operator":"Exists","effect":"NoSchedule"}])");
}

TEST(DeepTestJob, runs_once_for_a_limited_time_without_rights) {
  const json::value job = job_of(deep_test_policy().job);
  EXPECT_EQ(at(job, "/spec/backoffLimit"), "0");
  EXPECT_EQ(at(job, "/spec/activeDeadlineSeconds"), "600");
  EXPECT_EQ(at(job, "/spec/ttlSecondsAfterFinished"), "3600");
  EXPECT_EQ(at(job, kPod + "/restartPolicy"), "\"Never\"");
  EXPECT_EQ(at(job, kPod + "/automountServiceAccountToken"), "false");
  EXPECT_EQ(at(job, kPod + "/securityContext/runAsNonRoot"), "true");
  EXPECT_EQ(at(job, kPod + "/securityContext/seccompProfile/type"), "\"RuntimeDefault\"");
  EXPECT_EQ(at(job, kPod + "/containers/0/securityContext"),
            R"({"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}})");
  EXPECT_EQ(at(job, "/metadata/namespace"), "\"autopilot\"");
}

TEST(DeepTestJob, starts_our_helper_with_the_program) {
  const json::value job = job_of(deep_test_policy().job);
  EXPECT_EQ(
      at(job, kPod + "/containers/0/command"),
      R"(["autopilot","helper","deep-test","--output","/dev/termination-log","--deadline","5m","--gpus","4",)"
      R"("--","dcgmi","diag","-r","3","-j"])");
  EXPECT_EQ(at(job, kPod + "/containers/0/image"), "\"registry/deep-test:1\"");
}

TEST(DeepTestJob, starts_our_own_tests_with_what_they_need_of_the_driver) {
  DeepTestJobSettings settings = deep_test_policy().job;
  EXPECT_FALSE(job_of(settings).at_pointer(kPod + "/containers/0").as_object().contains("env"));
  settings.is_own = true;
  settings.command = {"--seconds", "10"};
  const json::value job = job_of(settings);
  EXPECT_EQ(
      at(job, kPod + "/containers/0/command"),
      R"(["autopilot","helper","deep-test","--output","/dev/termination-log","--deadline","5m","--gpus","4",)"
      R"("--tests","own","--","--seconds","10"])");
  EXPECT_EQ(at(job, kPod + "/containers/0/env"),
            R"([{"name":"NVIDIA_DRIVER_CAPABILITIES","value":"compute,utility"}])");
}

TEST(DeepTestJob, has_what_the_installation_gives_it) {
  DeepTestJobSettings settings = deep_test_policy().job;
  settings.pull_secrets = {"registry"};
  settings.tolerated = {"nvidia.com/gpu"};
  settings.owner = OwnerReference{"apps/v1", "DaemonSet", "autopilot", "u-1"};
  const json::value job = job_of(settings);
  EXPECT_EQ(at(job, kPod + "/imagePullSecrets"), R"([{"name":"registry"}])");
  EXPECT_EQ(at(job, kPod + "/tolerations/1"), R"({"key":"nvidia.com/gpu","operator":"Exists"})");
  EXPECT_EQ(at(job, "/metadata/ownerReferences"),
            R"([{"apiVersion":"apps/v1","kind":"DaemonSet","name":"autopilot","uid":"u-1"}])");
  EXPECT_FALSE(
      job_of(deep_test_policy().job).at_pointer("/metadata").as_object().contains("ownerReferences"));
}

TEST(DeepTestJob, is_found_by_its_name_and_by_its_labels) {
  const json::value job = job_of(deep_test_policy().job);
  const std::string name = deep_test_job_name(kNode, kBegin);
  EXPECT_EQ(at(job, "/metadata/name"), '"' + name + '"');
  EXPECT_EQ(deep_test_job_since(kNode, name), kBegin);
  EXPECT_EQ(deep_test_job_since("gpu-8", name), std::nullopt);
  EXPECT_EQ(deep_test_job_since(kNode, "train"), std::nullopt);
  const std::string selector = deep_test_selector("autopilot.ibm.com", kNode);
  const std::size_t equals = selector.find('=');
  for (const std::string_view labels : {"/metadata/labels", "/spec/template/metadata/labels"})
    EXPECT_EQ(job.at_pointer(labels).as_object().at(selector.substr(0, equals)).as_string(),
              selector.substr(equals + 1));
}

TEST(DeepTestJob, a_name_fits_whatever_the_node_is_called) {
  EXPECT_LE(deep_test_job_name(std::string(253, 'n'), kBegin).size(), 63U);
  EXPECT_NE(deep_test_job_name("a", kBegin), deep_test_job_name("b", kBegin));
  EXPECT_NE(deep_test_job_name("a", kBegin), deep_test_job_name("a", kBegin + 1s));
}

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
  EXPECT_EQ(deep_test_result(kube::Pod{}, kFatalTests, kExcuses).why,
            "its pod ended before its container started");
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
