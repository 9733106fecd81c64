// SPDX-License-Identifier: Apache-2.0
#include "core/workload.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

Workload training() {
  Workload workload;
  workload.pid = 4200;
  workload.started_ticks = 7700;
  workload.process = "python3";
  return workload;
}

Workload holder(const std::string& pod, const std::string& uid = "") {
  Workload workload;
  workload.owner.pod_namespace = "ml";
  workload.owner.pod = pod;
  workload.owner.pod_uid = uid;
  return workload;
}

TEST(Workload, may_be_a_pod_without_a_process) {
  EXPECT_EQ(to_string(holder("train-0")), "pod ml/train-0");
  EXPECT_FALSE(holder("train-0").is_process());
  EXPECT_TRUE(holder("train-0").is_same(holder("train-0")));
  EXPECT_FALSE(holder("train-0").is_same(holder("train-1")));
  EXPECT_FALSE(holder("train-0").is_same(training()));
  Workload process = training();
  process.owner = holder("train-0").owner;
  EXPECT_FALSE(process.is_same(holder("train-0"))) << "one is a process of the other";
  EXPECT_TRUE(is_same_pod(process.owner, holder("train-0").owner));
}

TEST(Workload, is_a_candidate_until_somebody_knows_better) {
  Workload candidate = holder("train-0", "1");
  candidate.owner.candidate_by = "api";
  EXPECT_EQ(to_string(candidate), "pod ml/train-0 (the only one with GPUs)");
  const auto told = workload_in(to_observation(candidate, host_subject(), "api", Instant{}));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->owner, candidate.owner);
  WorkloadOwner known = candidate.owner;
  learn(known, candidate.owner);
  EXPECT_EQ(known.candidate_by, "api");
  learn(known, holder("train-0").owner);
  EXPECT_EQ(known.candidate_by, "");
  EXPECT_EQ(known.pod_uid, "1");
  learn(known, candidate.owner);
  EXPECT_EQ(known.candidate_by, "") << "it was known before";
}

TEST(Workload, of_the_same_name_is_another_pod_where_the_uids_differ) {
  EXPECT_FALSE(is_same_pod(holder("train-0", "1").owner, holder("train-0", "2").owner));
  EXPECT_TRUE(is_same_pod(holder("train-0", "1").owner, holder("train-0").owner));
  EXPECT_TRUE(is_same_pod(holder("", "1").owner, holder("train-0", "1").owner));
  EXPECT_FALSE(is_same_pod(WorkloadOwner{}, WorkloadOwner{})) << "nobody's processes have no pod in common";
}

TEST(Workload, that_is_a_pod_is_found_again_in_what_a_look_tells) {
  Subject gpu;
  gpu.kind = SubjectKind::gpu;
  gpu.key = "0000:3b:00.0";
  const Observation told = to_observation(holder("train-0", "1"), gpu, "kubelet", Instant{});
  EXPECT_EQ(told.name, "pod.ml/train-0");
  const auto found = workload_in(told);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner, holder("train-0", "1").owner);
  EXPECT_EQ(found->pid, 0);
}

TEST(Workload, is_named_by_what_it_belongs_to) {
  Workload workload = training();
  EXPECT_EQ(to_string(workload), "process python3, 4200");
  workload.owner.container = "0123456789abcdef";
  EXPECT_EQ(to_string(workload), "container 0123456789ab (python3, 4200)");
  workload.owner.job = "slurm 4711";
  EXPECT_EQ(to_string(workload), "slurm 4711 (python3, 4200)");
  workload.owner.pod_uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  EXPECT_EQ(to_string(workload), "pod 8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d (python3, 4200)");
  workload.owner.pod_namespace = "ml";
  workload.owner.pod = "train-0";
  EXPECT_EQ(to_string(workload), "pod ml/train-0 (python3, 4200)");
  workload.process.clear();
  EXPECT_EQ(to_string(workload), "pod ml/train-0 (4200)");
}

TEST(Workload, survives_being_told_as_an_observation) {
  Workload workload = training();
  workload.owner = {
      "0123456789abcdef", "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d", "ml", "train-0", "slurm 4711", ""};
  Subject gpu;
  gpu.kind = SubjectKind::gpu;
  gpu.key = "0000:3b:00.0";
  const Instant now{WallTime{std::chrono::hours{24 * 365 * 50}}, MonoTime{std::chrono::hours{1}}};
  const auto again = workload_in(to_observation(workload, gpu, "/proc", now));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->is_same(workload));
  EXPECT_EQ(again->process, "python3");
  EXPECT_EQ(again->owner, workload.owner);
  EXPECT_EQ(again->first_seen, now.wall);
}

TEST(Workload, is_not_in_other_observations) {
  Observation other;
  other.name = "processes.pids";
  other.value = std::string("4200");
  EXPECT_FALSE(workload_in(other));
  other.name = "process.many";
  EXPECT_FALSE(workload_in(other));
  other.name = "process.4200";
  other.value.reset();
  EXPECT_FALSE(workload_in(other));
}

}  // namespace
}  // namespace autopilot
