// SPDX-License-Identifier: Apache-2.0
#include "core/gpu_user.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

GpuUser training() {
  GpuUser gpu_user;
  gpu_user.pid = 4200;
  gpu_user.started_ticks = 7700;
  gpu_user.process = "python3";
  return gpu_user;
}

GpuUser holder(const std::string& pod, const std::string& uid = "") {
  GpuUser gpu_user;
  gpu_user.owner.pod_namespace = "ml";
  gpu_user.owner.pod = pod;
  gpu_user.owner.pod_uid = uid;
  return gpu_user;
}

TEST(GpuUser, may_be_a_pod_without_a_process) {
  EXPECT_EQ(to_string(holder("train-0")), "pod ml/train-0");
  EXPECT_FALSE(holder("train-0").is_process());
  EXPECT_TRUE(holder("train-0").is_same(holder("train-0")));
  EXPECT_FALSE(holder("train-0").is_same(holder("train-1")));
  EXPECT_FALSE(holder("train-0").is_same(training()));
  GpuUser process = training();
  process.owner = holder("train-0").owner;
  EXPECT_FALSE(process.is_same(holder("train-0"))) << "one is a process of the other";
  EXPECT_TRUE(is_same_pod(process.owner, holder("train-0").owner));
}

TEST(GpuUser, is_a_candidate_until_somebody_knows_better) {
  GpuUser candidate = holder("train-0", "1");
  candidate.owner.candidate_by = "api";
  EXPECT_EQ(to_string(candidate), "pod ml/train-0 (the only one with GPUs)");
  const auto told = gpu_user_in(to_observation(candidate, host_subject(), "api", Instant{}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->owner, candidate.owner);
  GpuUserOwner known = candidate.owner;
  learn(known, candidate.owner);
  EXPECT_EQ(known.candidate_by, "api");
  learn(known, holder("train-0").owner);
  EXPECT_EQ(known.candidate_by, "");
  EXPECT_EQ(known.pod_uid, "1");
  learn(known, candidate.owner);
  EXPECT_EQ(known.candidate_by, "") << "it was known before";
}

TEST(GpuUser, of_the_same_name_is_another_pod_where_the_uids_differ) {
  EXPECT_FALSE(is_same_pod(holder("train-0", "1").owner, holder("train-0", "2").owner));
  EXPECT_TRUE(is_same_pod(holder("train-0", "1").owner, holder("train-0").owner));
  EXPECT_TRUE(is_same_pod(holder("", "1").owner, holder("train-0", "1").owner));
  EXPECT_FALSE(is_same_pod(GpuUserOwner{}, GpuUserOwner{}))
      << "two processes without an owner are not of the same pod";
}

TEST(GpuUser, that_is_a_pod_is_found_again_in_what_a_look_tells) {
  Subject gpu;
  gpu.kind = SubjectKind::gpu;
  gpu.key = "0000:3b:00.0";
  const Observation told = to_observation(holder("train-0", "1"), gpu, "kubelet", Instant{});
  EXPECT_EQ(told.name, "pod.ml/train-0");
  const auto found = gpu_user_in(told);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner, holder("train-0", "1").owner);
  EXPECT_EQ(found->pid, 0);
}

TEST(GpuUser, is_named_by_what_it_belongs_to) {
  GpuUser gpu_user = training();
  EXPECT_EQ(to_string(gpu_user), "process python3, 4200");
  gpu_user.owner.container = "0123456789abcdef";
  EXPECT_EQ(to_string(gpu_user), "container 0123456789ab (python3, 4200)");
  gpu_user.owner.job = "slurm 4711";
  EXPECT_EQ(to_string(gpu_user), "slurm 4711 (python3, 4200)");
  gpu_user.owner.pod_uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  EXPECT_EQ(to_string(gpu_user), "pod 8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d (python3, 4200)");
  gpu_user.owner.pod_namespace = "ml";
  gpu_user.owner.pod = "train-0";
  EXPECT_EQ(to_string(gpu_user), "pod ml/train-0 (python3, 4200)");
  gpu_user.process.clear();
  EXPECT_EQ(to_string(gpu_user), "pod ml/train-0 (4200)");
}

TEST(GpuUser, survives_being_told_as_an_observation) {
  GpuUser gpu_user = training();
  gpu_user.owner = {
      "0123456789abcdef", "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d", "ml", "train-0", "slurm 4711", ""};
  Subject gpu;
  gpu.kind = SubjectKind::gpu;
  gpu.key = "0000:3b:00.0";
  const Instant now{WallTime{std::chrono::hours{24 * 365 * 50}}, MonoTime{std::chrono::hours{1}}};
  const auto again = gpu_user_in(to_observation(gpu_user, gpu, "/proc", now));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->is_same(gpu_user));
  EXPECT_EQ(again->process, "python3");
  EXPECT_EQ(again->owner, gpu_user.owner);
  EXPECT_EQ(again->first_seen, now.wall);
}

TEST(GpuUser, is_not_in_other_observations) {
  Observation other;
  other.name = "processes.pids";
  other.value = std::string("4200");
  EXPECT_FALSE(gpu_user_in(other));
  other.name = "process.many";
  EXPECT_FALSE(gpu_user_in(other));
  other.name = "process.4200";
  other.value.reset();
  EXPECT_FALSE(gpu_user_in(other));
}

}  // namespace
}  // namespace autopilot
