// SPDX-License-Identifier: Apache-2.0
#include "host/process/process_handle.hpp"

#include <chrono>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::process_handle_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

std::uint64_t own_ticks() {
  return parse_task_state(Files().read("/proc/self/stat").value())->started_ticks;
}

ProcessHandle own() {
  return ProcessHandle::open(::getpid(), own_ticks()).value();
}

TEST(ProcessHandle, belongs_to_one_process_only) {
  EXPECT_TRUE(ProcessHandle::open(::getpid(), own_ticks()));
  EXPECT_EQ(ProcessHandle::open(::getpid(), own_ticks() + 1).error().code, Errc::not_found);
  EXPECT_EQ(ProcessHandle::open(0, 0).error().code, Errc::malformed);
}

TEST(ProcessHandle, reads_what_the_kernel_shows) {
  EXPECT_EQ(own().read("status", 8)->size(), 8U);
  EXPECT_EQ(own().read("nothing", 8).error().code, Errc::not_found);
  EXPECT_THAT(own().threads().value(), Contains(::getpid()));
  EXPECT_EQ(own().inner_pid().value(), ::getpid());
  EXPECT_EQ(own().file_user().value(), ::geteuid());
  EXPECT_TRUE(own().network_namespace());
  EXPECT_TRUE(own().shares_own_network().value());
}

TEST(ProcessHandle, the_start_is_in_the_past) {
  const WallTime start = wall_time_of_start(own_ticks());
  EXPECT_LT(start, std::chrono::system_clock::now());
  EXPECT_GT(start, std::chrono::system_clock::now() - std::chrono::hours{1});
}

TEST(ProcessHandle, only_named_variables_leave_the_environment) {
  const auto values = own().environment({"PATH"});
  ASSERT_TRUE(values) << values.error().what;
  EXPECT_THAT(*values, ElementsAre(Pair("PATH", ::getenv("PATH"))));
}

TEST(ProcessHandle, reads_the_initial_environment_from_memory) {
  const std::string whole = own().read("environ", ProcessHandle::kMaxEnvironment).value();
  EXPECT_EQ(own().initial_environment(ProcessHandle::kMaxEnvironment).value(), whole);
  EXPECT_EQ(own().initial_environment(8).value(), whole.substr(0, 8));
}

TEST(ProcessHandle, opens_regular_files_and_pipes_only) {
  const TestFolder folder;
  folder.write("/file", "text");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(own().open_file(folder / "file"));
  EXPECT_EQ(own().open_file(folder / "pipe").error().code, Errc::malformed);
  EXPECT_EQ(own().open_file("file").error().code, Errc::malformed);
  EXPECT_EQ(own().open_pipe(folder / "file").error().code, Errc::malformed);
  EXPECT_EQ(own().open_pipe(folder / "pipe").error().code, Errc::unavailable) << "does not wait for a reader";
  const Fd reader(::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_TRUE(own().open_pipe(folder / "pipe"));
}

}  // namespace
}  // namespace autopilot::host::process_handle_test
