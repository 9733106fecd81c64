// SPDX-License-Identifier: Apache-2.0
#include "host/process/process_owner.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

const std::string kContainer(64, 'a');
const std::string kUid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
const std::string kUidInSlice = "8b7c1f8e_0d55_4f9c_a2a3_1d2f3a4b5c6d";

TEST(Cgroups, of_a_pod_in_every_form) {
  const WorkloadOwner expected{.container = kContainer, .pod_uid = kUid};
  const std::vector<std::string> paths{
      "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidInSlice +
          ".slice/cri-containerd-" + kContainer + ".scope",
      "0::/kubepods.slice/kubepods-pod" + kUidInSlice + ".slice/crio-" + kContainer + ".scope",
      "11:memory:/kubepods/besteffort/pod" + kUid + "/" + kContainer,
      "5:cpuset:/kubepods/pod" + kUid + "/" + kContainer + "\n4:pids:/user.slice\n1:name=systemd:/\n0::/",
      "0::/system.slice/containerd.service/kubepods-burstable-pod" + kUidInSlice +
          ".slice:cri-containerd:" + kContainer,
  };
  for (const std::string& path : paths)
    EXPECT_EQ(parse_cgroups(path), expected) << path;
  EXPECT_EQ(parse_cgroup_path("/kubepods/besteffort/pod" + kUid + "/" + kContainer), expected);
  const std::string of_a_file(32, 'b');
  EXPECT_EQ(parse_cgroups("0::/kubepods/burstable/pod" + of_a_file + "/" + kContainer).pod_uid, of_a_file);
}

TEST(Cgroups, of_containers_without_a_pod) {
  const std::vector<std::string> paths{"0::/system.slice/docker-" + kContainer + ".scope",
                                       "4:memory:/docker/" + kContainer,
                                       "0::/machine.slice/libpod-" + kContainer + ".scope/container"};
  for (const std::string& path : paths)
    EXPECT_EQ(parse_cgroups(path), (WorkloadOwner{.container = kContainer})) << path;
}

TEST(Cgroups, of_jobs_of_slurm) {
  for (const std::string path : {"4:memory:/slurm/uid_1000/job_4711/step_0/task_0",
                                 "0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0",
                                 "0::/system.slice/node17_slurmstepd.scope/job_4711/step_0/user/task_0",
                                 "8:memory:/slurm_node17/uid_1000/job_4711/step_0",
                                 "0::/system.slice/slurmstepd.scope/job_4711/step_0 (deleted)"})
    EXPECT_EQ(parse_cgroups(path), (WorkloadOwner{.job = "slurm 4711"})) << path;
}

TEST(Cgroups, of_nothing_known_and_of_garbage) {
  const std::vector<std::string> paths{std::string("0::/user.slice/user-1000.slice/session-3.scope"),
                                       std::string("0::/"),
                                       std::string(),
                                       std::string(":::"),
                                       std::string("0:"),
                                       std::string(100, ':'),
                                       "0::/x" + kContainer,
                                       "0::/" + kContainer.substr(1),
                                       std::string("0::/kubepods/podnobody/x"),
                                       std::string("0::/home/job_12"),
                                       "0::/tripod" + kUid,
                                       std::string("0::/slurm/job_x")};
  for (const std::string& path : paths)
    EXPECT_EQ(parse_cgroups(path), WorkloadOwner{}) << path;
}

TEST(ProcessOwner, has_the_name_of_its_pod) {
  TestFolder folder;
  folder.write("/proc/4200/stat",
               "4200 (python3 (main)) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 7700 0 0");
  folder.write("/proc/4200/cgroup", "0::/kubepods/burstable/pod" + kUid + "/" + kContainer + "\n");
  folder.write("/var/log/pods/ml_train-0_" + kUid + "/main/0.log", "");
  folder.write("/var/log/pods/not_of_a_pod/x", "");
  const Files files(folder.path());
  const auto pods = read_pod_names(files);
  EXPECT_EQ(pods.size(), 1U);
  const Workload workload = read_workload(files, 4200, pods).value();
  EXPECT_EQ(to_string(workload), "pod ml/train-0 (python3 (main), 4200)");
  EXPECT_EQ(workload.started_ticks, 7700U);
  EXPECT_EQ(read_workload(files, 4201, pods).error().code, Errc::not_found);
}

// A folder for control groups that this user may add to.
std::string control_groups() {
  for (const char* folder : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"})
    if (std::filesystem::exists(std::string(folder) + "/cgroup.procs") && ::access(folder, W_OK) == 0)
      return folder;
  return {};
}

TEST(ProcessOwnerOfThisKernel, is_the_pod_whose_control_group_holds_it) {
  const std::string groups = control_groups();
  if (groups.empty()) GTEST_SKIP() << "no control group may be made here: needs root";
  const std::string outer = groups + "/kubepods-test";
  const std::string pod = outer + "/pod" + kUid;
  const std::string container = pod + "/" + kContainer;
  std::filesystem::create_directories(container);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  std::ofstream(container + "/cgroup.procs") << child;
  const auto workload = read_workload(Files(), child, {{kUid, {"ml", "train-0"}}});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const std::string& folder : {container, pod, outer})
    ::rmdir(folder.c_str());
  ASSERT_TRUE(workload);
  EXPECT_EQ(
      workload->owner,
      (WorkloadOwner{.container = kContainer, .pod_uid = kUid, .pod_namespace = "ml", .pod = "train-0"}));
}

TEST(ProcessOwner, is_told_of_this_process) {
  const Workload self = read_workload(Files(), ::getpid(), {}).value();
  EXPECT_EQ(self.process, "autopilot_host_");
  EXPECT_GT(self.started_ticks, 0U);
}

}  // namespace
}  // namespace autopilot::host
