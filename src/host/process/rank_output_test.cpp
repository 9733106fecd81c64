// SPDX-License-Identifier: Apache-2.0
#include "host/process/rank_output.hpp"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::rank_output_test {
namespace {

std::uint64_t started_ticks(std::int64_t pid) {
  const auto row = Files{}.read("/proc/" + std::to_string(pid) + "/stat");
  return row ? parse_task_state(*row).value_or(TaskState{}).started_ticks : 0;
}

TEST(RankOutput, the_output_of_a_process_is_read_where_it_is_a_file) {
  const TestFolder folder;
  folder.write("/out", "");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int out = ::open((folder / "out").c_str(), O_WRONLY);
    const bool is_written = ::dup2(out, 1) == 1 && ::write(1, "step 1\n", 7) == 7;
    if (is_written && ::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto file = open_standard_output(child);
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(file->read_new(1024, 4096)->bytes, "step 1\n");
  const std::uint64_t started = started_ticks(child);
  EXPECT_TRUE(may_run(child, started));
  EXPECT_FALSE(may_run(child, started + 1));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(may_run(child, started));
  EXPECT_EQ(file->read_end(7).value_or(""), "step 1\n");
  EXPECT_EQ(open_standard_output(child).error().code, Errc::not_found);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RankOutput, a_pipe_cannot_be_read_and_is_named) {
  int output[2];
  ASSERT_EQ(::pipe(output), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(output[1], 1);
    ::execl("/bin/sh", "sh", "-c", "echo; exec sleep 60", nullptr);
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(output[0], &byte, 1), 1);
  const auto file = open_standard_output(child);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::unsupported);
  EXPECT_NE(file.error().what.find("a pipe"), std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(output[0]);
  ::close(output[1]);
}

}  // namespace
}  // namespace autopilot::host::rank_output_test
