// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/job_identity.hpp"

#include <gtest/gtest.h>

namespace autopilot::collect::job_identity_test {
namespace {

const std::string kUid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";

PodFacts pod_of(std::vector<PodOwner> owners, PodFacts::Texts labels = {}) {
  return {.uid = "00000000-0000-0000-0000-000000000001",
          .name_space = "ml",
          .name = "llama-worker-0",
          .labels = std::move(labels),
          .owners = std::move(owners)};
}

TEST(JobIdentity, is_the_outermost_known_owner_of_the_pod) {
  const JobIdentity pytorch = identify_pod(pod_of({{"PyTorchJob", "llama", kUid}}));
  EXPECT_EQ(pytorch.key, "ml/llama-8b7c1f8e");
  EXPECT_EQ(pytorch.name, "llama");
  EXPECT_EQ(pytorch.owner, "PyTorchJob ml/llama");
  EXPECT_EQ(pytorch.kind, jobs::JobKind::training);
  EXPECT_EQ(pytorch.pod, "llama-worker-0");

  EXPECT_EQ(
      identify_pod(pod_of({{"Job", "t-node-0", "x"}, {"JobSet", "t", "y"}, {"TrainJob", "t", kUid}})).owner,
      "TrainJob ml/t");
  EXPECT_EQ(identify_pod(pod_of({{"Job", "nightly-2951", kUid}, {"CronJob", "nightly", "x"}})).owner,
            "Job ml/nightly-2951")
      << "each run of a CronJob is a job of its own";
  EXPECT_EQ(identify_pod(pod_of({{"RayCluster", "rc", "x"}, {"RayJob", "tune", kUid}})).owner,
            "RayJob ml/tune");
  EXPECT_EQ(identify_pod(pod_of({{"MPIJob", "hpl", kUid}})).key, "ml/hpl-8b7c1f8e");
  EXPECT_EQ(identify_pod(pod_of({{"Job", "gang", kUid}}, {{"volcano.sh/job-name", "gang"}})).owner,
            "Job ml/gang");
  EXPECT_EQ(identify_pod(pod_of({{"NewKindOfJob", "x", kUid}})).owner, "NewKindOfJob ml/x");
  const JobIdentity lone = identify_pod(pod_of({}));
  EXPECT_EQ(lone.key, "ml/llama-worker-0-00000000");
  EXPECT_EQ(lone.owner, "");
}

TEST(JobIdentity, is_in_the_labels_where_the_chain_of_owners_ends_early) {
  const PodFacts::Texts labels{{"jobset.sigs.k8s.io/jobset-name", "big"},
                               {"jobset.sigs.k8s.io/jobset-uid", kUid}};
  const JobIdentity first = identify_pod(pod_of({{"Job", "big-workers-0", "a"}}, labels));
  EXPECT_EQ(first.owner, "JobSet ml/big");
  EXPECT_EQ(first, identify_pod(pod_of({{"Job", "big-workers-1", "b"}}, labels)));
  EXPECT_EQ(identify_pod(pod_of({}, {{"ray.io/cluster", "rc"}})).owner, "RayCluster ml/rc");
  EXPECT_EQ(identify_pod(pod_of({}, {{"training.kubeflow.org/job-name", "j"}})).owner, "PyTorchJob ml/j");
  EXPECT_EQ(identify_pod(pod_of({}, {{"kueue.x-k8s.io/pod-group-name", "g"}})).owner, "PodGroup ml/g");
}

TEST(JobIdentity, of_services_is_inference_with_replicas) {
  const JobIdentity deployment =
      identify_pod(pod_of({{"ReplicaSet", "chat-5d4f", "x"}, {"Deployment", "chat", kUid}}));
  EXPECT_EQ(deployment.kind, jobs::JobKind::inference);
  EXPECT_EQ(deployment.owner, "Deployment ml/chat");
  EXPECT_EQ(deployment.replica, "llama-worker-0");
  const JobIdentity group = identify_pod(pod_of(
      {{"StatefulSet", "big-0", "x"}, {"LeaderWorkerSet", "big", kUid}},
      {{"leaderworkerset.sigs.k8s.io/name", "big"}, {"leaderworkerset.sigs.k8s.io/group-index", "2"}}));
  EXPECT_EQ(group.owner, "LeaderWorkerSet ml/big");
  EXPECT_EQ(group.replica, "big-2");
}

host::Process process_with(host::Launch::Values environment) {
  host::Process process;
  process.launch.environment = std::move(environment);
  process.user = 1000;
  process.network_namespace = 7;
  return process;
}

std::string key_of(const host::Process& process, bool trusts_slurm_variables = true) {
  const auto job = identify_by_launch(process, "node-a", trusts_slurm_variables);
  return job ? job->key : "none";
}

TEST(JobIdentity, without_pods_is_what_the_launcher_shares_between_nodes) {
  EXPECT_EQ(key_of(process_with(
                {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}})),
            "uid1000/10.0.0.1:29500");
  EXPECT_EQ(
      key_of(process_with(
          {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}})),
      "node-a/uid1000/localhost:29500/net7")
      << "the same address on another node is another job";
  EXPECT_EQ(key_of(process_with({{"RANK", "0"},
                                 {"WORLD_SIZE", "2"},
                                 {"MASTER_ADDR", "10.0.0.1"},
                                 {"MASTER_PORT", "48211"},
                                 {"TORCHELASTIC_RUN_ID", "run-7"}})),
            "uid1000/run-7@10.0.0.1")
      << "torchrun chooses another port for each attempt";
  EXPECT_EQ(key_of(process_with({{"PMIX_NAMESPACE", "1434517505"}})), "uid1000/mpi/1434517505");
  EXPECT_EQ(key_of(process_with({{"JAX_COORDINATOR_ADDRESS", "10.0.0.1:1234"}})), "uid1000/10.0.0.1:1234");
  EXPECT_EQ(key_of(process_with({{"JAX_COORDINATOR_ADDRESS", "localhost:1234"}})), "none");
  EXPECT_EQ(key_of(process_with({{"AUTOPILOT_JOB", "mine"}})), "uid1000/mine");
  EXPECT_EQ(key_of(process_with({{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}})), "none");
  EXPECT_EQ(key_of(process_with({})), "none");
}

TEST(JobIdentity, has_a_bounded_key_of_printable_characters) {
  const std::string a = key_of(process_with({{"AUTOPILOT_JOB", std::string(256, 'x') + "a"}}));
  const std::string b = key_of(process_with({{"AUTOPILOT_JOB", std::string(256, 'x') + "b"}}));
  EXPECT_EQ(a.size(), kLongestKey);
  EXPECT_NE(a, b);
  EXPECT_EQ(bounded_key("a\nb"), "a?b");
}

TEST(JobIdentity, of_slurm_comes_from_the_kernel_where_slurm_uses_control_groups) {
  host::Process process = process_with({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NAME", "pretrain"}});
  EXPECT_EQ(key_of(process), "slurm/12");
  EXPECT_EQ(key_of(process, false), "none") << "any user can set a variable";
  process.owner.job = "slurm 4711";
  EXPECT_EQ(key_of(process, false), "slurm/4711");
  EXPECT_EQ(identify_by_launch(process, "node-a", false)->name, "pretrain");
  EXPECT_EQ(key_of(process_with({{"SLURM_JOB_ID", "../x"}})), "none");
}

}  // namespace
}  // namespace autopilot::collect::job_identity_test
