// SPDX-License-Identifier: Apache-2.0
#include "kube/attribution/gpu_pods.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/gpu_user.hpp"

namespace autopilot::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

kube::Pod pod(const std::string& name, const std::string& resource = "nvidia.com/gpu",
              std::int64_t count = 1) {
  kube::Pod pod;
  pod.meta.uid = "uid-" + name;
  pod.meta.name_space = "ml";
  pod.meta.name = name;
  pod.phase = "Running";
  pod.devices[resource] = count;
  return pod;
}

std::vector<std::string> names(const GpuPods& pods) {
  std::vector<std::string> names;
  for (const Observation& holder : pods.holders(Instant{}))
    names.push_back(holder.name);
  return names;
}

TEST(GpuPods, are_told_as_candidates_at_the_host) {
  GpuPods pods;
  EXPECT_TRUE(pods.put(pod("train-0", "nvidia.com/gpu", 8)));
  const auto told = pods.holders(Instant{});
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].subject, host_subject());
  EXPECT_EQ(told[0].source, "api");
  const auto gpu_user = gpu_user_in(told[0]);
  ASSERT_TRUE(gpu_user);
  EXPECT_EQ(gpu_user->owner.pod_uid, "uid-train-0");
  EXPECT_EQ(gpu_user->owner.pod_namespace, "ml");
  EXPECT_EQ(gpu_user->owner.pod, "train-0");
  EXPECT_EQ(gpu_user->owner.candidate_by, "api");
}

TEST(GpuPods, are_those_that_asked_for_gpus_and_have_not_ended) {
  GpuPods pods;
  kube::Pod over = pod("over");
  over.phase = "Failed";
  EXPECT_FALSE(pods.put(over));
  EXPECT_FALSE(pods.put(pod("web", "cpu")));
  EXPECT_FALSE(pods.put(pod("none", "nvidia.com/gpu", 0)));
  EXPECT_THAT(names(pods), IsEmpty());
  EXPECT_TRUE(pods.put(pod("a")));
  EXPECT_TRUE(pods.put(pod("b", "nvidia.com/mig-1g.10gb")));
  EXPECT_FALSE(pods.put(pod("b", "nvidia.com/mig-1g.10gb"))) << "no news";
  EXPECT_THAT(names(pods), ElementsAre("pod.ml/a", "pod.ml/b"));
  kube::Pod ended = pod("a");
  ended.phase = "Succeeded";
  EXPECT_TRUE(pods.put(ended));
  EXPECT_THAT(names(pods), ElementsAre("pod.ml/b"));
  pods.remove(pod("b"));
  EXPECT_THAT(names(pods), IsEmpty());
}

TEST(GpuPods, nobody_is_told_while_a_claim_may_be_one_for_a_gpu) {
  GpuPods pods;
  EXPECT_TRUE(pods.put(pod("train-0")));
  kube::Pod claims = pod("claim-0", "cpu");
  claims.device_claims = {"some"};
  EXPECT_TRUE(pods.put(claims));
  EXPECT_THAT(names(pods), IsEmpty());
  pods.remove(claims);
  EXPECT_THAT(names(pods), ElementsAre("pod.ml/train-0"));
}

TEST(GpuPods, more_than_can_be_kept_are_no_candidates) {
  GpuPods pods;
  for (std::size_t i = 0; i < GpuPods::kMaxPods; ++i)
    pods.put(pod("p" + std::to_string(i)));
  EXPECT_THAT(names(pods), SizeIs(GpuPods::kMaxPods));
  EXPECT_TRUE(pods.put(pod("one-more")));
  EXPECT_THAT(names(pods), IsEmpty());
  pods.clear();
  pods.put(pod("a"));
  EXPECT_THAT(names(pods), ElementsAre("pod.ml/a"));
}

TEST(GpuPods, know_a_gpu_by_the_words_of_the_device_plugins) {
  for (const char* gpu : {"nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-3g.40gb"})
    EXPECT_TRUE(is_gpu_resource(gpu)) << gpu;
  for (const char* other : {"", "cpu", "gpu", "example.org/gpu", "nvidia.com/", "nvidia.com/gpudirect",
                            "nvidia.com/imex", "rdma/hca"})
    EXPECT_FALSE(is_gpu_resource(other)) << other;
}

}  // namespace
}  // namespace autopilot::kube
