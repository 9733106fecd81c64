// SPDX-License-Identifier: Apache-2.0
#include "host/process/tasks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "host/files/test_folder.hpp"

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
  folder.write("/proc/uptime", "1.0 1.0");
  const auto tasks = read_tasks(Files(folder.path()));
  ASSERT_TRUE(tasks) << tasks.error().what;
  EXPECT_EQ(tasks->looked_at, 4U);
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

}  // namespace
}  // namespace autopilot::host
