// SPDX-License-Identifier: Apache-2.0
#include "host/process/process_table.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "host/process/child.hpp"
#include "tests/support/host/fake_reader.hpp"
#include "tests/support/host/test_processes.hpp"

namespace autopilot::host::process_table_test {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> rank(int number) {
  return {"RANK=" + std::to_string(number)};
}

TEST(ProcessTable, reads_environments_of_candidates_only) {
  const TestProcesses machine;
  machine.add({.pid = 1, .name = "systemd", .parent = 0, .environment = rank(1)});
  machine.add({.pid = 10, .name = "torchrun"});
  machine.add({.pid = 11, .name = "train", .parent = 10, .environment = rank(3)});
  machine.add({.pid = 12, .name = "nginx", .environment = rank(4)});
  machine.add({.pid = 13, .name = "on-gpu", .environment = rank(5)});
  machine.add({.pid = 14,
               .name = "in-slurm",
               .environment = rank(6),
               .cgroup = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"});
  machine.add({.pid = 16, .name = "python3", .state = 'Z'});
  machine.folder().write("/proc/15/stat",
                         "15 (kworker/0:1) I 2 1 1 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n");
  const Files files(machine.path());
  ProcessTable table(files);
  ASSERT_TRUE(table.refresh({13}));
  const auto& found = table.processes();
  EXPECT_EQ(found.size(), 6U) << "without the kernel thread and the zombie";
  EXPECT_THAT(found.at(1).launch.environment, IsEmpty());
  EXPECT_THAT(found.at(12).launch.environment, IsEmpty());
  EXPECT_EQ(found.at(11).launch.variable("RANK"), "3");
  EXPECT_EQ(found.at(13).launch.variable("RANK"), "5");
  EXPECT_EQ(found.at(14).launch.variable("RANK"), "6");
  EXPECT_EQ(found.at(14).owner.job, "slurm 4711");
  EXPECT_EQ(found.at(11).user, 1000U);
  EXPECT_EQ(found.at(11).inner_pid, 11);
  EXPECT_EQ(found.at(11).network_namespace, 4026531992U);
}

TEST(ProcessTable, reads_a_process_in_its_first_rounds_only) {
  const TestProcesses machine;
  machine.add({.pid = 10, .name = "python3", .environment = rank(1)});
  const Files files(machine.path());
  ProcessTable table(files);
  ASSERT_TRUE(table.refresh({}));
  machine.add({.pid = 10, .name = "python3", .environment = rank(2)});
  for (int round = 1; round < ProcessTable::kRoundsRead; ++round)
    ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "2") << "it executed another program";
  machine.add({.pid = 10, .name = "python3", .environment = rank(3)});
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "2");
  machine.add({.pid = 10, .name = "python3", .environment = rank(4), .started_ticks = 9000});
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "4") << "the pid belongs to another process";
}

TEST(ProcessTable, reads_processes_without_a_job_seldom) {
  const TestProcesses machine;
  int reads = 0;
  const Files files(machine.path(), [&](std::string_view path) -> Status {
    if (path.ends_with("/stat")) ++reads;
    return {};
  });
  for (int pid = 1; pid <= 24; ++pid)
    machine.add({.pid = pid, .name = "nginx"});
  machine.add({.pid = 100, .name = "python3", .environment = rank(1)});
  ProcessTable table(files);
  for (int round = 0; round < ProcessTable::kRoundsRead; ++round)
    ASSERT_TRUE(table.refresh({}));
  reads = 0;
  for (int round = 0; round < ProcessTable::kRestingRounds; ++round)
    ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(reads, 24 + ProcessTable::kRestingRounds);
  EXPECT_EQ(table.processes().size(), 25U);
  reads = 0;
  ASSERT_TRUE(table.refresh({1, 2, 3, 4, 5, 6}));
  EXPECT_GE(reads, 7) << "one that is on a GPU now is read at once";
}

TEST(ProcessTable, asks_a_reader_for_a_closed_environment) {
  const TestProcesses machine;
  machine.add({.pid = 10, .name = "python3", .environment = rank(1), .arguments = {"x", "--nnodes=2"}});
  machine.add({.pid = 11, .name = "python3", .environment = rank(2)});
  const Files files(machine.path(), [](std::string_view path) -> Status {
    if (path == "/proc/10/environ") return fail(Errc::denied, std::string(path));
    return {};
  });
  FakeReader reader;
  ProcessTable table(files, &reader);
  // A reader that cannot read yet is asked again, however many rounds pass.
  for (int round = 0; round <= ProcessTable::kRoundsRead; ++round) {
    ASSERT_TRUE(table.refresh({}));
    EXPECT_EQ(table.processes().at(10).launch_error, Errc::denied);
    EXPECT_EQ(table.reader_problem(), "not for this reader");
  }
  reader.known_facts[{10, 7700}] = {.environment = {{"RANK", "3"}}, .is_cut = true, .network_namespace = 8};
  ASSERT_TRUE(table.refresh({}));
  const Process& closed = table.processes().at(10);
  EXPECT_EQ(closed.launch_error, std::nullopt);
  EXPECT_EQ(table.reader_problem(), "");
  EXPECT_EQ(closed.launch.variable("RANK"), "3");
  EXPECT_EQ(closed.launch.argument("--nnodes"), "2");
  EXPECT_TRUE(closed.launch.is_cut);
  EXPECT_EQ(closed.network_namespace, 8U);
  EXPECT_EQ(table.processes().at(11).launch.variable("RANK"), "2") << "an open one is read directly";
  reader.known_facts.clear();
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "3") << "what was read remains true";
  EXPECT_EQ(table.processes().at(10).network_namespace, 8U);
}

TEST(ProcessTable, does_not_read_a_blocked_process) {
  const TestProcesses machine;
  machine.add({.pid = 10, .name = "python3", .environment = rank(1), .state = 'D'});
  const Files files(machine.path());
  ProcessTable table(files);
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch_error, Errc::unavailable);
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "");
  machine.add({.pid = 10, .name = "python3", .environment = rank(1)});
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch_error, std::nullopt);
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "1");
}

TEST(ProcessTable, reads_no_more_than_the_limits) {
  const TestProcesses machine;
  const std::string huge = "X=" + std::string(10'000'000, 'x');
  machine.add({.pid = 10, .name = "python3", .environment = {"RANK=1", huge}});
  machine.add({.pid = 11, .name = "python3", .environment = {huge, "RANK=1"}});
  const Files files(machine.path());
  ProcessTable table(files);
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().at(10).launch.variable("RANK"), "1");
  EXPECT_EQ(table.processes().at(11).launch.variable("RANK"), "");
  EXPECT_TRUE(table.processes().at(11).launch.is_cut);
}

TEST(ProcessTable, counts_processes_beyond_the_limit) {
  const TestProcesses machine;
  for (int pid = 1; pid <= 5; ++pid)
    machine.add({.pid = pid, .name = "x"});
  const Files files(machine.path());
  ProcessTable table(files, nullptr, 2);
  ASSERT_TRUE(table.refresh({}));
  EXPECT_EQ(table.processes().size(), 2U);
  EXPECT_EQ(table.left_out(), 3U);
}

TEST(ProcessTable, without_any_process_is_an_error) {
  const TestFolder folder;
  const Files files(folder.path());
  ProcessTable table(files);
  EXPECT_EQ(table.refresh({}).error().code, Errc::not_found);
  folder.write("/proc/uptime", "1 1");
  EXPECT_EQ(table.refresh({}).error().code, Errc::unavailable);
}

TEST(ProcessTable, sees_the_rank_of_a_real_process) {
  auto child = Child::start({.program = "/usr/bin/python3",
                             .arguments = {"-c", "import time; time.sleep(60)"},
                             .environment = {"RANK=5", "SECRET=x"}},
                            {});
  if (!child) GTEST_SKIP() << "needs python3";
  const Files files;
  ProcessTable table(files);
  // The kernel shows the environment a moment after the program has begun.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto found = table.processes().end();
  do {
    ASSERT_TRUE(table.refresh({child->pid()}));
    found = table.processes().find(child->pid());
    ASSERT_NE(found, table.processes().end());
  } while (found->second.launch.environment.empty() && std::chrono::steady_clock::now() < end);
  EXPECT_EQ(found->second.task.parent, ::getpid());
  EXPECT_EQ(found->second.user, ::geteuid());
  EXPECT_GT(found->second.network_namespace, 0U);
  EXPECT_EQ(found->second.launch.variable("RANK"), "5");
  EXPECT_EQ(found->second.launch.environment.size(), 1U);
}

}  // namespace
}  // namespace autopilot::host::process_table_test
