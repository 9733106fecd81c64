// SPDX-License-Identifier: Apache-2.0
#include "host/process/processes.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kRest = " 0 0 0 0 0 12 0 0 20 0 1 0 7700 0 0 0\n";

std::string row(int pid, const std::string& name, char state, int parent, const std::string& flags) {
  return std::to_string(pid) + " (" + name + ") " + state + " " + std::to_string(parent) + " 1 1 0 -1 " +
         flags + std::string(kRest);
}

TEST(Tasks, a_name_may_hold_brackets_and_blanks) {
  const auto task = parse_task_state(row(42, "a) R (b c", 'D', 7, "2129984"));
  ASSERT_TRUE(task) << task.error().what;
  EXPECT_EQ(task->pid, 42);
  EXPECT_EQ(task->name, "a) R (b c");
  EXPECT_EQ(task->state, 'D');
  EXPECT_EQ(task->parent, 7);
  EXPECT_TRUE(task->is_kernel_thread);
  EXPECT_EQ(task->started_ticks, 7700U);
  EXPECT_EQ(task->cpu_ticks, 12U);
}

TEST(Tasks, this_process_can_read_its_own_io) {
  const Files files;
  const auto io = read_task_io(files, ::getpid());
  ASSERT_TRUE(io) << io.error().what;
  EXPECT_GT(io->call_read_bytes, 0U);
  const auto task = read_task_state(files, ::getpid());
  ASSERT_TRUE(task) << task.error().what;
  EXPECT_EQ(task->pid, ::getpid());
  EXPECT_EQ(read_task_state(files, 0).error().code, Errc::not_found);
}

TEST(Tasks, io_without_its_rows_is_malformed) {
  const auto io = parse_task_io("rchar: 1\nwchar: 2\nsyscr: 9\nread_bytes: 3\nwrite_bytes: 4\n");
  ASSERT_TRUE(io) << io.error().what;
  EXPECT_EQ(io->storage_written_bytes, 4U);
  for (const char* text : {"", "rchar: 1\n", "rchar: x\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\n"})
    EXPECT_FALSE(parse_task_io(text)) << text;
}

TEST(Tasks, run_delay_is_the_second_of_three_numbers) {
  EXPECT_EQ(parse_run_delay("30869949521 421247700949 21454\n"), Duration(421247700949));
  for (const char* text : {"", "1 2\n", "1 -2 3\n", "1 x 3\n", "1 2 3 4\n", "1 99999999999999999999 3\n"})
    EXPECT_FALSE(parse_run_delay(text)) << text;
}

TEST(Tasks, what_is_no_row_is_malformed) {
  for (const std::string& text :
       {std::string(), std::string("42"), std::string(")42("), std::string("42 (a) D"),
        std::string("x") + row(42, "a", 'D', 1, "0"), row(42, "a", 'D', 1, "many"), std::string(100000, '('),
        std::string("\0\0)", 3)})
    EXPECT_FALSE(parse_task_state(text)) << text.substr(0, 40);
}

TEST(Tasks, tells_who_is_blocked_and_who_was_not_collected) {
  const TestFolder folder;
  folder.write("/proc/1/stat", row(1, "init", 'S', 0, "0"));
  folder.write("/proc/42/stat", row(42, "python3", 'D', 1, "0"));
  folder.write("/proc/42/status",
               "Name:\tpython3\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n");
  folder.write("/proc/42/wchan", "rpc_wait_bit_killable");
  folder.write("/proc/43/stat", row(43, "cat", 'D', 1, "0"));
  folder.write("/proc/43/wchan", "0");
  folder.write("/proc/44/stat", row(44, "sh", 'Z', 42, "0"));
  folder.write("/proc/45/comm", "ended meanwhile");
  folder.write("/proc/46/stat", row(46, "vim", 'T', 1, "0"));
  folder.write("/proc/uptime", "1.0 1.0");
  const auto tasks = read_tasks(Files(folder.path()));
  ASSERT_TRUE(tasks) << tasks.error().what;
  EXPECT_EQ(tasks->looked_at, 5U);
  ASSERT_THAT(tasks->stopped, SizeIs(1));
  EXPECT_EQ(tasks->stopped[0].pid, 46);
  ASSERT_THAT(tasks->blocked, SizeIs(2));
  EXPECT_EQ(tasks->blocked[0].switches, 42U);
  EXPECT_EQ(tasks->blocked[0].waits_in, "rpc_wait_bit_killable");
  EXPECT_EQ(tasks->blocked[1].switches, std::nullopt);
  EXPECT_THAT(tasks->blocked[1].waits_in, IsEmpty());
  ASSERT_THAT(tasks->zombies, SizeIs(1));
  EXPECT_EQ(tasks->zombies[0].parent, 42);
}

TEST(Tasks, a_list_without_any_row_is_no_look) {
  const TestFolder folder;
  EXPECT_EQ(read_tasks(Files(folder.path())).error().code, Errc::not_found);
  folder.write("/proc/uptime", "1.0 1.0");
  EXPECT_EQ(read_tasks(Files(folder.path())).error().code, Errc::unavailable);
  folder.write("/proc/1/stat", "many");
  EXPECT_EQ(read_tasks(Files(folder.path())).error().code, Errc::malformed);
}

TEST(Tasks, beyond_the_limits_they_are_counted) {
  const TestFolder folder;
  constexpr int kMany = static_cast<int>(Tasks::kMostBlocked) + 5;
  for (int pid = 1; pid <= kMany; ++pid)
    folder.write("/proc/" + std::to_string(pid) + "/stat", row(pid, "x", 'D', 1, "0"));
  const auto tasks = read_tasks(Files(folder.path()));
  ASSERT_TRUE(tasks);
  EXPECT_THAT(tasks->blocked, SizeIs(Tasks::kMostBlocked));
  EXPECT_EQ(tasks->blocked_count, static_cast<std::size_t>(kMany));
}

TEST(Tasks, of_this_machine_are_seen) {
  const auto tasks = read_tasks(Files());
  ASSERT_TRUE(tasks) << tasks.error().what;
  EXPECT_GT(tasks->looked_at, 0U);
  const auto text = Files().read("/proc/" + std::to_string(::getpid()) + "/stat");
  ASSERT_TRUE(text);
  const auto self = parse_task_state(*text);
  ASSERT_TRUE(self) << self.error().what;
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_FALSE(self->is_kernel_thread);
}

const std::string kContainer(64, 'a');
const std::string kUid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
const std::string kUidInSlice = "8b7c1f8e_0d55_4f9c_a2a3_1d2f3a4b5c6d";

TEST(Cgroups, of_a_pod_in_every_form) {
  const GpuUserOwner expected{.container = kContainer, .pod_uid = kUid};
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
    EXPECT_EQ(parse_cgroups(path), (GpuUserOwner{.container = kContainer})) << path;
}

TEST(Cgroups, of_jobs_of_slurm) {
  for (const std::string path : {"4:memory:/slurm/uid_1000/job_4711/step_0/task_0",
                                 "0::/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0",
                                 "0::/system.slice/node17_slurmstepd.scope/job_4711/step_0/user/task_0",
                                 "8:memory:/slurm_node17/uid_1000/job_4711/step_0",
                                 "0::/system.slice/slurmstepd.scope/job_4711/step_0 (deleted)"})
    EXPECT_EQ(parse_cgroups(path), (GpuUserOwner{.job = "slurm 4711"})) << path;
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
    EXPECT_EQ(parse_cgroups(path), GpuUserOwner{}) << path;
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
  const GpuUser gpu_user = read_gpu_user(files, 4200, pods).value();
  EXPECT_EQ(to_string(gpu_user), "pod ml/train-0 (python3 (main), 4200)");
  EXPECT_EQ(gpu_user.started_ticks, 7700U);
  EXPECT_EQ(read_gpu_user(files, 4201, pods).error().code, Errc::not_found);
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
  const auto gpu_user = read_gpu_user(Files(), child, {{kUid, {"ml", "train-0"}}});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const std::string& folder : {container, pod, outer})
    ::rmdir(folder.c_str());
  ASSERT_TRUE(gpu_user);
  EXPECT_EQ(
      gpu_user->owner,
      (GpuUserOwner{.container = kContainer, .pod_uid = kUid, .pod_namespace = "ml", .pod = "train-0"}));
}

TEST(ProcessOwner, is_told_of_this_process) {
  const GpuUser self = read_gpu_user(Files(), ::getpid(), {}).value();
  EXPECT_EQ(self.process, "autopilot_host_");
  EXPECT_GT(self.started_ticks, 0U);
}

TEST(UserName, knows_root_and_nobody_who_is_not_listed) {
  EXPECT_EQ(local_user_name(0), "root");
  EXPECT_EQ(local_user_name(0xfffffff0U), std::nullopt);
}

}  // namespace
}  // namespace autopilot::host
