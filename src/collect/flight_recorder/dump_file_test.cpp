// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump_file.hpp"

#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "host/files/files.hpp"
#include "host/process/processes.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::collect::dump_file_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

RankProcess own_process() {
  RankProcess process;
  process.pid = ::getpid();
  process.started_ticks =
      host::parse_task_state(host::Files().read("/proc/self/stat").value())->started_ticks;
  return process;
}

TEST(DumpFile, is_where_the_job_or_pytorch_puts_it) {
  EXPECT_THAT(dump_prefixes_of({.cache_folder = "/root/.cache"}), IsEmpty()) << "no flight recorder is set";
  EXPECT_THAT(dump_prefixes_of({.dump_prefix = "/data/rank_", .cache_folder = "/root/.cache"}),
              ElementsAre("/data/rank_"));
  EXPECT_THAT(dump_prefixes_of({.has_flight_recorder = true, .cache_folder = "/root/.cache"}),
              ElementsAre("/root/.cache/torch/comm_lib_trace_rank_", "/tmp/nccl_trace_rank_"));
  EXPECT_THAT(dump_prefixes_of({.trigger_prefix = "/data/pipe_"}), ElementsAre("/tmp/nccl_trace_rank_"));
}

TEST(DumpFile, is_the_first_that_this_attempt_of_the_job_wrote) {
  const host::TestFolder folder;
  const std::vector<std::string> prefixes{folder / "new_", folder / "old_"};
  EXPECT_EQ(open_dump(own_process(), prefixes).error().code, Errc::not_found);
  folder.write("/old_0", "an older release");
  EXPECT_EQ(open_dump(own_process(), prefixes).value().path, folder / "old_0");
  folder.write("/new_0", "an earlier attempt");
  std::filesystem::last_write_time(folder / "new_0", std::filesystem::file_time_type::clock::now() - 24h);
  EXPECT_EQ(open_dump(own_process(), prefixes).value().path, folder / "old_0");
  folder.write("/new_0.json", "this attempt");
  const auto dump = open_dump(own_process(), prefixes);
  ASSERT_TRUE(dump) << dump.error().what;
  EXPECT_EQ(dump->path, folder / "new_0.json");
  EXPECT_TRUE(dump->is_of_user);
  EXPECT_EQ(read_dump(*dump, 100).value(), "this attempt");
  EXPECT_EQ(read_dump(*dump, 5).error().code, Errc::exhausted);
}

TEST(DumpFile, a_link_to_a_file_of_another_user_is_not_of_the_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file to another user";
  const host::TestFolder folder;
  folder.write("/secret", "text");
  ASSERT_EQ(::chown((folder / "secret").c_str(), 65534, 65534), 0);
  folder.link("/rank_0", folder / "secret");
  const auto dump = open_dump(own_process(), {folder / "rank_"});
  ASSERT_TRUE(dump) << dump.error().what;
  EXPECT_FALSE(dump->is_of_user);
}

}  // namespace
}  // namespace autopilot::collect::dump_file_test
