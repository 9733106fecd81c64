// SPDX-License-Identifier: Apache-2.0
#include "host/storage/ext4_errors.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

#include "host/files/test_folder.hpp"
#include "host/process/poll.hpp"
#include "host/storage/loop_filesystem.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

TEST(Ext4ErrorCounts, are_read_with_time_and_place) {
  const TestFolder folder;
  const Files files(folder.path());
  folder.write("/sys/fs/ext4/features/lazy_itable_init", "supported\n");
  folder.write("/sys/fs/ext4/sda1/errors_count", "3\n");
  folder.write("/sys/fs/ext4/sda1/first_error_time", "1700000000\n");
  folder.write("/sys/fs/ext4/sda1/last_error_time", "1700000100\n");
  folder.write("/sys/fs/ext4/sda1/last_error_func", "ext4_find_entry\n");
  folder.write("/sys/class/block/sda1/dev", "8:1\n");
  folder.write("/sys/fs/ext4/sda2/errors_count", "0\n");
  folder.write("/sys/fs/ext4/sda2/first_error_time", "0\n");
  const auto filesystems = scan_ext4_errors(files);
  ASSERT_TRUE(filesystems) << filesystems.error().what;
  ASSERT_EQ(filesystems->size(), 2U);
  const Ext4Errors& first = (*filesystems)[0];
  EXPECT_EQ(first.device, "sda1");
  EXPECT_EQ(first.device_number, "8:1");
  EXPECT_EQ(first.count, 3U);
  EXPECT_EQ(first.last, WallTime{1700000100s});
  EXPECT_EQ(first.last_function, "ext4_find_entry");
  EXPECT_EQ((*filesystems)[1].count, 0U);
  EXPECT_EQ((*filesystems)[1].first, std::nullopt);
}

TEST(Ext4ErrorCounts, none_is_told_from_no_sysfs_and_from_garbage) {
  const TestFolder folder;
  const Files files(folder.path());
  EXPECT_EQ(scan_ext4_errors(files).error().code, Errc::unavailable);
  folder.write("/sys/kernel/x", "");
  EXPECT_TRUE(scan_ext4_errors(files)->empty());
  folder.write("/sys/fs/ext4/sda1/errors_count", "-1\n");
  folder.write("/sys/fs/ext4/sda2/errors_count", "0\n");
  const auto filesystems = scan_ext4_errors(files);
  ASSERT_EQ(filesystems->size(), 2U);
  ASSERT_TRUE((*filesystems)[0].problem);
  EXPECT_EQ((*filesystems)[0].problem->code, Errc::malformed);
  EXPECT_FALSE((*filesystems)[1].problem);
}

TEST(Ext4ErrorCountsOfThisKernel, grow_with_an_error) {
  const LoopFilesystem filesystem({.mount = "errors=continue"});
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  const Files files;
  const auto of_ours = [&] {
    const auto all = scan_ext4_errors(files).value();
    const auto found = std::ranges::find(all, filesystem.device(), &Ext4Errors::device);
    return found == all.end() ? Ext4Errors{} : *found;
  };
  EXPECT_EQ(of_ours().device, filesystem.device());
  EXPECT_NE(of_ours().device_number, "");
  EXPECT_EQ(of_ours().count, 0U);
  const std::string problem =
      run_program({"sh", "-c", "echo test > /sys/fs/ext4/" + filesystem.device() + "/trigger_fs_error"});
  if (!problem.empty()) GTEST_SKIP() << "this kernel makes no errors on demand: " << problem;
  // The kernel writes the count down a moment later.
  for (const MonoTime end = mono_now() + 20s; of_ours().count == 0 && mono_now() < end;)
    std::this_thread::yield();
  EXPECT_EQ(of_ours().count, 1U);
  EXPECT_TRUE(of_ours().last.has_value());
}

}  // namespace
}  // namespace autopilot::host
