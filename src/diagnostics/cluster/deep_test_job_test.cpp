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

}  // namespace
}  // namespace autopilot::diagnostics
