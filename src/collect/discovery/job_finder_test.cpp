// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/job_finder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "collect/discovery/job_memory.hpp"
#include "tests/support/host/fake_reader.hpp"
#include "tests/support/host/test_processes.hpp"

namespace autopilot::collect::job_finder_test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Texts = std::vector<std::string>;

const std::string kContainer(64, 'a');
const std::string kUid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";

std::string pod_group(const std::string& uid = kUid, const std::string& container = kContainer) {
  return "/kubepods/burstable/pod" + uid + "/" + container;
}

Texts worker(int rank, int world, int local_rank, const std::string& address = "10.0.0.1") {
  return {"RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(world),
          "LOCAL_RANK=" + std::to_string(local_rank),
          "MASTER_ADDR=" + address,
          "MASTER_PORT=29500",
          "TORCHELASTIC_RUN_ID=none"};
}

// A machine tree whose processes come and go.
class JobFinderTest : public ::testing::Test {
 protected:
  SeenJobs look() {
    now_ += 10s;
    auto seen = finder_.look(holders_, pods_, now_);
    EXPECT_TRUE(seen) << seen.error().what;
    return seen.value_or(SeenJobs{});
  }
  SeenJob only_job() {
    SeenJobs seen = look();
    EXPECT_THAT(seen.jobs, SizeIs(1));
    return seen.jobs.empty() ? SeenJob{} : seen.jobs.front();
  }
  // torchrun with `count` workers from pid 101 on, on GPUs 0, 1 ...
  void start_torchrun(int first_rank, int world, int count, int ticks = 8000, int first_pid = 101) {
    machine_.add({.pid = 100, .name = "torchrun", .started_ticks = ticks});
    for (int i = 0; i < count; ++i) {
      machine_.add({.pid = first_pid + i,
                    .name = "python3",
                    .parent = 100,
                    .environment = worker(first_rank + i, world, i),
                    .started_ticks = ticks + 1});
      holders_.by_pid[first_pid + i] = {i};
    }
  }
  static std::vector<int> ranks_of(const SeenJob& job) {
    std::vector<int> ranks;
    for (const jobs::RankRecord& rank : job.record.ranks)
      ranks.push_back(rank.rank);
    return ranks;
  }
  static std::vector<std::int64_t> pids_of(const SeenJob& job) {
    std::vector<std::int64_t> pids;
    for (const RankProcess& process : job.processes)
      pids.push_back(process.pid);
    return pids;
  }

  host::TestProcesses machine_;
  std::string gone_, closed_;  // paths
  host::Files files_{machine_.path()};
  JobFinder finder_{files_, "node-a"};
  GpuHolders holders_;
  PodFactsByUid pods_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

TEST_F(JobFinderTest, sees_a_torchrun_tree_with_ranks_roles_gpus_and_data_loaders) {
  start_torchrun(8, 16, 4);
  for (int i = 0; i < 4; ++i)
    machine_.add({.pid = 101 + i,
                  .name = "python3",
                  .parent = 100,
                  .environment = worker(8 + i, 16, i),
                  .arguments = {"python3", "train.py", "--pipeline-model-parallel-size", "2"}});
  machine_.add({.pid = 201, .name = "python3", .parent = 101, .environment = worker(8, 16, 0)});
  machine_.add({.pid = 202, .name = "ffmpeg", .parent = 201});
  machine_.add({.pid = 300, .name = "python3"});
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "uid1000/10.0.0.1:29500");
  EXPECT_EQ(job.record.kind, jobs::JobKind::training);
  EXPECT_FALSE(job.record.has_local_ranks);
  EXPECT_EQ(job.record.attempt, 1);
  EXPECT_EQ(job.world, 16);
  EXPECT_THAT(ranks_of(job), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(pids_of(job), ElementsAre(101, 102, 103, 104));
  EXPECT_THAT(job.processes[0].children, ElementsAre(201, 202));
  EXPECT_THAT(job.processes[1].gpus, ElementsAre(1));
  EXPECT_EQ(job.processes[0].network_namespace, 4026531992U);
  EXPECT_EQ(job.processes[0].inner_pid, 1);
  EXPECT_EQ(job.record.ranks[0].role, "stage 1");
  EXPECT_EQ(job.record.ranks[3].gpu, 3);
  EXPECT_EQ(job.record.ranks[3].node, "node-a");
}

TEST_F(JobFinderTest, sees_pods_with_their_owner_container_and_settings) {
  machine_.add({.pid = 50, .name = "torchrun", .cgroup = pod_group()});
  machine_.add({.pid = 51,
                .name = "python3",
                .parent = 50,
                .environment = worker(3, 8, 0, "llama-master-0"),
                .cgroup = pod_group()});
  machine_.add({.pid = 60, .name = "nginx", .cgroup = pod_group("11111111-0d55-4f9c-a2a3-1d2f3a4b5c6d")});
  holders_.by_pid[51] = {2};
  pods_[kUid] = {.uid = kUid,
                 .name_space = "ml",
                 .name = "llama-worker-0",
                 .annotations = {{"autopilot.ibm.com/step-pattern", "x"}, {"secret", "y"}},
                 .owners = {{"PyTorchJob", "llama", "7f3a0000-1"}},
                 .containers = {{kContainer, "trainer"}}};
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "ml/llama-7f3a0000");
  EXPECT_EQ(job.record.owner, "PyTorchJob ml/llama");
  EXPECT_THAT(ranks_of(job), ElementsAre(3));
  EXPECT_EQ(job.record.ranks[0].pod, "llama-worker-0");
  ASSERT_THAT(job.pods, SizeIs(1));
  EXPECT_EQ(job.pods[0].uid, kUid);
  EXPECT_EQ(job.pods[0].container, "trainer");
  EXPECT_THAT(job.pods[0].settings, SizeIs(1));
  EXPECT_EQ(job.processes[0].pod_uid, kUid);
}

TEST_F(JobFinderTest, joins_pods_without_an_api_server_by_their_rendezvous) {
  machine_.add({.pid = 51,
                .name = "python3",
                .environment = worker(3, 8, 0, "llama-master-0"),
                .cgroup = pod_group()});
  machine_.folder().write("/var/log/pods/ml_llama-worker-0_" + kUid + "/trainer/0.log", "");
  machine_.folder().write("/var/log/containers/llama-worker-0_ml_trainer-" + kContainer + ".log", "");
  const SeenJobs seen = look();
  ASSERT_THAT(seen.jobs, SizeIs(1));
  EXPECT_EQ(seen.jobs[0].record.job, "ml/llama-master-0:29500");
  EXPECT_EQ(seen.jobs[0].pods[0].name, "llama-worker-0");
  EXPECT_EQ(seen.jobs[0].pods[0].container, "trainer");
  EXPECT_THAT(seen.not_seen, Contains(HasSubstr("permission to list pods")));
}

TEST_F(JobFinderTest, joins_pods_without_owners_by_their_rendezvous) {
  machine_.add({.pid = 51,
                .name = "python3",
                .environment = worker(3, 8, 0, "llama-master-0"),
                .cgroup = pod_group()});
  pods_[kUid] = {.uid = kUid, .name_space = "ml", .name = "llama-worker-0"};
  const SeenJobs seen = look();
  ASSERT_THAT(seen.jobs, SizeIs(1));
  EXPECT_EQ(seen.jobs[0].record.job, "ml/llama-master-0:29500");
  EXPECT_THAT(ranks_of(seen.jobs[0]), ElementsAre(3));
  EXPECT_THAT(seen.not_seen, IsEmpty());
}

TEST_F(JobFinderTest, sees_servers_of_a_deployment_as_replicas) {
  machine_.add({.pid = 51,
                .name = "python3",
                .arguments = {"python3", "-m", "vllm.entrypoints.openai.api_server"},
                .cgroup = pod_group()});
  machine_.add({.pid = 52, .name = "VLLM::Worker", .parent = 51, .cgroup = pod_group()});
  machine_.add({.pid = 53, .name = "VLLM::Worker", .parent = 51, .cgroup = pod_group()});
  holders_.by_pid = {{52, {5}}, {53, {4}}};
  pods_[kUid] = {.uid = kUid,
                 .name_space = "ml",
                 .name = "chat-5d4f-x",
                 .owners = {{"ReplicaSet", "chat-5d4f", "x"}, {"Deployment", "chat", "12345678-9"}}};
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "ml/chat-12345678");
  EXPECT_EQ(job.record.kind, jobs::JobKind::inference);
  EXPECT_TRUE(job.record.has_local_ranks);
  EXPECT_THAT(pids_of(job), ElementsAre(53, 52)) << "in the order of GPUs";
  EXPECT_EQ(job.record.ranks[0].replica, "chat-5d4f-x");
}

TEST_F(JobFinderTest, sees_a_server_outside_of_a_cluster) {
  machine_.add({.pid = 51, .name = "tritonserver"});
  holders_.by_pid[51] = {0};
  EXPECT_EQ(only_job().record.kind, jobs::JobKind::inference);
}

TEST_F(JobFinderTest, sees_jobs_of_slurm_with_their_tasks) {
  const std::string group = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0";
  const auto task = [](int procid) {
    return Texts{"SLURM_JOB_ID=4711", "SLURM_JOB_NAME=pretrain", "SLURM_NTASKS=4",
                 "SLURM_PROCID=" + std::to_string(procid), "SLURM_LOCALID=" + std::to_string(procid % 2)};
  };
  machine_.add({.pid = 40, .name = "slurm_script", .environment = task(0), .cgroup = group});
  machine_.add({.pid = 41, .name = "srun", .parent = 40, .environment = task(0), .cgroup = group});
  machine_.add({.pid = 50, .name = "slurmstepd", .cgroup = group});
  machine_.add({.pid = 51, .name = "bash", .parent = 50, .environment = task(2), .cgroup = group});
  machine_.add({.pid = 52, .name = "python3", .parent = 51, .environment = task(2), .cgroup = group});
  machine_.add({.pid = 53, .name = "python3", .parent = 50, .environment = task(3), .cgroup = group});
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "slurm/4711");
  EXPECT_EQ(job.record.name, "pretrain");
  EXPECT_EQ(job.world, 4);
  EXPECT_THAT(ranks_of(job), ElementsAre(2, 3));
  EXPECT_THAT(pids_of(job), ElementsAre(52, 53));
}

TEST_F(JobFinderTest, prefers_the_ranks_of_torchrun_to_those_of_slurm_and_of_the_pod) {
  const std::string group = "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0";
  Texts slurm{"SLURM_JOB_ID=12", "SLURM_NTASKS=2", "SLURM_PROCID=1", "SLURM_LOCALID=0"};
  machine_.add({.pid = 50,
                .name = "python3",
                .environment = slurm,
                .arguments = {"python3", "-m", "torch.distributed.run", "train.py"},
                .cgroup = group});
  for (int i = 0; i < 2; ++i) {
    Texts both = worker(2 + i, 4, i);
    both.insert(both.end(), slurm.begin(), slurm.end());
    machine_.add({.pid = 51 + i, .name = "python3", .parent = 50, .environment = both, .cgroup = group});
  }
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "slurm/12");
  EXPECT_THAT(ranks_of(job), ElementsAre(2, 3));
  EXPECT_THAT(pids_of(job), ElementsAre(51, 52));
}

TEST_F(JobFinderTest, sees_an_mpirun_tree_on_cpus) {
  machine_.add({.pid = 50, .name = "mpirun"});
  for (int i = 0; i < 2; ++i)
    machine_.add({.pid = 51 + i,
                  .name = "xhpl",
                  .parent = 50,
                  .environment = {"OMPI_COMM_WORLD_RANK=" + std::to_string(i), "OMPI_COMM_WORLD_SIZE=2",
                                  "OMPI_COMM_WORLD_LOCAL_RANK=" + std::to_string(i), "PMIX_NAMESPACE=77"}});
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "uid1000/mpi/77");
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1));
  EXPECT_EQ(job.record.ranks[0].gpu, std::nullopt);
}

TEST_F(JobFinderTest, sees_ranks_of_mpich_as_the_job_of_their_launcher) {
  machine_.add(
      {.pid = 50,
       .name = "hydra_pmi_proxy",
       .arguments = {"/usr/bin/hydra_pmi_proxy", "--control-port", "node-a:41234", "--rmk", "user"}});
  machine_.add({.pid = 60, .name = "mpiexec.hydra"});
  for (int i = 0; i < 2; ++i)
    for (const int parent : {50, 60})
      machine_.add({.pid = parent + 1 + i,
                    .name = "xhpl",
                    .parent = parent,
                    .environment = {"PMI_RANK=" + std::to_string(2 + i), "PMI_SIZE=4"}});
  const SeenJobs seen = look();
  ASSERT_THAT(seen.jobs, SizeIs(2));
  EXPECT_EQ(seen.jobs[0].record.job, "node-a/mpiexec.hydra-60-7700");
  EXPECT_EQ(seen.jobs[1].record.job, "uid1000/mpi/node-a:41234");
  EXPECT_THAT(ranks_of(seen.jobs[1]), ElementsAre(2, 3));
}

TEST_F(JobFinderTest, takes_a_lone_tree_on_gpus_as_a_job_of_one_rank) {
  machine_.add({.pid = 10, .name = "bash"});
  machine_.add({.pid = 11, .name = "python3", .parent = 10});
  machine_.add({.pid = 12, .name = "python3", .parent = 11});
  machine_.add({.pid = 13, .name = "Xorg"});
  holders_.by_pid = {{11, {0, 1}}, {12, {1}}, {13, {0}}};
  const SeenJob job = only_job();
  EXPECT_EQ(job.record.job, "node-a/python3-11-7700");
  EXPECT_TRUE(job.record.has_local_ranks);
  ASSERT_THAT(job.processes, SizeIs(1));
  EXPECT_THAT(job.processes[0].gpus, ElementsAre(0, 1));
  EXPECT_THAT(job.processes[0].children, ElementsAre(12));
}

TEST_F(JobFinderTest, keeps_two_jobs_on_one_port_in_two_network_namespaces_apart) {
  for (int job = 0; job < 2; ++job)
    machine_.add({.pid = 50 + job,
                  .name = "python3",
                  .environment = worker(0, 1, 0, "127.0.0.1"),
                  .network_namespace = 100U + static_cast<unsigned>(job)});
  EXPECT_THAT(look().jobs, SizeIs(2));
}

TEST_F(JobFinderTest, never_takes_a_hostile_environment_for_a_rank) {
  machine_.add({.pid = 50, .name = "python3", .environment = {"RANK=-5", "WORLD_SIZE=8", "LOCAL_RANK=0"}});
  machine_.add({.pid = 51, .name = "python3", .environment = {"RANK=999999999999", "WORLD_SIZE=8"}});
  machine_.add(
      {.pid = 52, .name = "python3", .environment = {"X=" + std::string(10'000'000, 'x'), "RANK=0"}});
  machine_.add({.pid = 53, .name = "python3", .environment = {std::string("RANK=1\xff\xfe\x01", 9)}});
  for (const int pid : {50, 51, 52, 53})
    holders_.by_pid[pid] = {pid - 50};
  const SeenJobs seen = look();
  EXPECT_THAT(seen.jobs, SizeIs(4));
  for (const SeenJob& job : seen.jobs)
    EXPECT_TRUE(job.record.has_local_ranks) << job.record.job;
}

TEST_F(JobFinderTest, states_a_rank_that_two_processes_have) {
  machine_.add({.pid = 100, .name = "torchrun"});
  for (int i = 0; i < 2; ++i) {
    machine_.add({.pid = 101 + i, .name = "python3", .parent = 100, .environment = worker(0, 2, 0)});
    holders_.by_pid[101 + i] = {1 - i};
  }
  const SeenJobs seen = look();
  ASSERT_THAT(seen.jobs, SizeIs(1));
  EXPECT_TRUE(seen.jobs[0].record.has_local_ranks);
  EXPECT_THAT(ranks_of(seen.jobs[0]), ElementsAre(0, 1));
  EXPECT_THAT(pids_of(seen.jobs[0]), ElementsAre(102, 101));
  EXPECT_THAT(seen.not_seen, Contains(HasSubstr("state the same rank 0")));
}

TEST_F(JobFinderTest, keeps_the_ranks_of_a_running_job_when_a_process_states_one_again) {
  start_torchrun(0, 2, 2);
  only_job();
  machine_.add({.pid = 500, .name = "python3", .parent = 100, .environment = worker(0, 2, 0)});
  holders_.by_pid[500] = {3};
  const SeenJob job = only_job();
  EXPECT_FALSE(job.record.has_local_ranks);
  EXPECT_THAT(pids_of(job), ElementsAre(101, 102));
}

TEST_F(JobFinderTest, is_not_misled_by_a_process_that_ends_while_it_is_read) {
  const host::Files files(machine_.path(), [this](std::string_view path) -> Status {
    if (path == gone_) return fail(Errc::not_found, std::string(path));
    if (path == closed_) return fail(Errc::denied, std::string(path));
    return {};
  });
  finder_ = JobFinder(files, "node-a");
  start_torchrun(0, 4, 4);
  gone_ = "/proc/102/environ";
  EXPECT_THAT(pids_of(only_job()), ElementsAre(101, 103, 104));

  finder_ = JobFinder(files, "node-a");
  closed_ = "/proc/103/environ";
  const SeenJobs seen = look();
  ASSERT_THAT(seen.jobs, SizeIs(2)) << "the closed process is a tree on a GPU";
  EXPECT_THAT(ranks_of(seen.jobs[1]), ElementsAre(0, 3));
  EXPECT_TRUE(seen.jobs[0].record.has_local_ranks);
  EXPECT_THAT(seen.not_seen, Contains(HasSubstr("CAP_SYS_PTRACE")));
}

TEST_F(JobFinderTest, knows_the_ranks_of_closed_processes_from_a_reader) {
  const host::Files files(machine_.path(), [](std::string_view path) -> Status {
    if (path.ends_with("/environ")) return fail(Errc::denied, std::string(path));
    return {};
  });
  start_torchrun(0, 2, 2);
  host::FakeReader reader;
  finder_ = JobFinder(files, "node-a", &reader);
  EXPECT_THAT(look().not_seen, Contains(HasSubstr("other users are unknown: not for this reader")));
  for (const int rank : {0, 1}) {
    host::Launch launch;
    const auto text = host::Files(machine_.path()).read("/proc/" + std::to_string(101 + rank) + "/environ");
    host::parse_environment(text.value(), launch);
    reader.known_facts[{101 + rank, 8001}] = {.environment = launch.environment};
  }
  finder_ = JobFinder(files, "node-a", &reader);
  const SeenJob job = only_job();
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1));
  EXPECT_FALSE(job.record.has_local_ranks);
}

TEST_F(JobFinderTest, keeps_what_a_process_stated_while_it_ends) {
  start_torchrun(0, 2, 2);
  only_job();
  for (const int pid : {101, 102})
    machine_.folder().write("/proc/" + std::to_string(pid) + "/environ", "");
  EXPECT_FALSE(only_job().record.has_local_ranks);
}

TEST_F(JobFinderTest, does_not_take_a_helper_that_left_its_parent_for_a_second_rank) {
  start_torchrun(0, 2, 2);
  holders_ = {};
  machine_.add({.pid = 500, .name = "wandb-core", .environment = worker(0, 2, 0)});
  machine_.add({.pid = 501, .name = "python3", .environment = worker(0, 2, 0)});
  EXPECT_THAT(pids_of(only_job()), ElementsAre(101, 102));
}

TEST_F(JobFinderTest, counts_an_attempt_when_all_processes_are_new) {
  start_torchrun(0, 4, 4);
  EXPECT_EQ(only_job().record.attempt, 1);
  machine_.remove(101);
  SeenJob job = only_job();
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1, 2, 3)) << "the engine sees which rank ended";
  EXPECT_THAT(pids_of(job), ElementsAre(102, 103, 104));
  start_torchrun(0, 4, 1, 9000, 111);
  job = only_job();
  EXPECT_EQ(job.record.attempt, 1) << "one rank only restarted";
  for (const int pid : {102, 103, 104})
    machine_.remove(pid);
  holders_ = {};
  start_torchrun(0, 4, 4, 9000, 111);
  job = only_job();
  EXPECT_EQ(job.record.attempt, 2);
  EXPECT_THAT(pids_of(job), ElementsAre(111, 112, 113, 114));
  EXPECT_THAT(finder_.take_ended(), IsEmpty());
}

TEST_F(JobFinderTest, reports_the_end_of_a_job_once_and_counts_the_next_start) {
  start_torchrun(0, 2, 2);
  only_job();
  for (const int pid : {100, 101, 102})
    machine_.remove(pid);
  machine_.add({.pid = 1, .name = "init", .parent = 0});
  EXPECT_THAT(look().jobs, IsEmpty());
  const auto ended = finder_.take_ended();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].job, "uid1000/10.0.0.1:29500");
  EXPECT_EQ(ended[0].outcome, jobs::Outcome::unknown);
  look();
  EXPECT_THAT(finder_.take_ended(), IsEmpty());
  start_torchrun(0, 2, 2, 9000);
  EXPECT_EQ(only_job().record.attempt, 2);
}

TEST_F(JobFinderTest, does_not_end_a_job_whose_source_is_silent) {
  machine_.add({.pid = 11, .name = "python3"});
  holders_.by_pid[11] = {0};
  only_job();
  holders_ = {.not_seen = {"The GPU driver does not answer"}};
  EXPECT_THAT(pids_of(only_job()), ElementsAre(11));
  EXPECT_THAT(finder_.take_ended(), IsEmpty());
}

TEST_F(JobFinderTest, keeps_the_numbers_of_ranks_that_no_launcher_states) {
  for (const int pid : {11, 12, 13}) {
    machine_.add({.pid = pid, .name = "server", .cgroup = pod_group()});
    holders_.by_pid[pid] = {pid - 11};
  }
  machine_.folder().write("/var/log/pods/ml_chat-0_" + kUid + "/main/0.log", "");
  EXPECT_THAT(pids_of(only_job()), ElementsAre(11, 12, 13));
  machine_.remove(12);
  EXPECT_THAT(ranks_of(only_job()), ElementsAre(0, 1, 2));
  machine_.add({.pid = 99, .name = "server", .cgroup = pod_group()});
  holders_.by_pid[99] = {1};
  const SeenJob job = only_job();
  EXPECT_THAT(ranks_of(job), ElementsAre(0, 1, 2));
  EXPECT_THAT(pids_of(job), ElementsAre(11, 99, 13)) << "on the GPU of the one that ended";
}

TEST_F(JobFinderTest, states_a_record_again_only_with_the_time_of_its_last_change) {
  start_torchrun(0, 2, 2);
  const WallTime first = only_job().record.time;
  EXPECT_EQ(only_job().record.time, first);
  machine_.remove(102);
  EXPECT_EQ(only_job().record.time, first) << "an ended rank stays";
  now_ += JobMemory::kKeepEndedRank;
  EXPECT_THAT(ranks_of(only_job()), ElementsAre(0));
}

TEST_F(JobFinderTest, watches_no_more_jobs_than_its_limit) {
  for (int i = 0; i < 70; ++i)
    machine_.add({.pid = 100 + i,
                  .name = "python3",
                  .environment = {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "MASTER_ADDR=h",
                                  "MASTER_PORT=" + std::to_string(1000 + i)}});
  const SeenJobs seen = look();
  EXPECT_THAT(seen.jobs, SizeIs(JobFinder::kMostJobs));
  EXPECT_THAT(seen.not_seen, Contains(HasSubstr("is not watched")));
  EXPECT_LE(seen.not_seen.size(), JobFinder::kMostNotSeen);
}

TEST_F(JobFinderTest, forgets_the_oldest_of_many_short_jobs) {
  machine_.add({.pid = 1, .name = "init", .parent = 0});
  constexpr int kAtOnce = 40;
  const auto start_and_end = [&](int first) {
    for (int i = 0; i < kAtOnce; ++i)
      machine_.add(
          {.pid = 100 + i,
           .name = "python3",
           .environment = {"AUTOPILOT_JOB=job-" + std::to_string(first + i), "RANK=0", "WORLD_SIZE=1"},
           .started_ticks = first + 1});
    look();
    for (int i = 0; i < kAtOnce; ++i)
      machine_.remove(100 + i);
    now_ -= 9s;
    look();
    now_ -= 9s;
  };
  for (int first = 0; first < 120; first += kAtOnce)
    start_and_end(first);
  EXPECT_THAT(finder_.take_ended(), SizeIs(JobFinder::kMostAttempts));
  for (const int job : {0, 119})
    machine_.add({.pid = 100 + job,
                  .name = "python3",
                  .environment = {"AUTOPILOT_JOB=job-" + std::to_string(job), "RANK=0", "WORLD_SIZE=1"}});
  const SeenJobs seen = look();
  ASSERT_THAT(seen.jobs, SizeIs(2));
  EXPECT_EQ(seen.jobs[0].record.attempt, 1);
  EXPECT_EQ(seen.jobs[1].record.attempt, 2);
}

TEST_F(JobFinderTest, without_proc_is_an_error_and_no_end) {
  start_torchrun(0, 2, 2);
  only_job();
  std::filesystem::rename(machine_.folder() / "proc", machine_.folder() / "moved");
  EXPECT_FALSE(finder_.look(holders_, pods_, now_));
  EXPECT_THAT(finder_.take_ended(), IsEmpty());
}

}  // namespace
}  // namespace autopilot::collect::job_finder_test
