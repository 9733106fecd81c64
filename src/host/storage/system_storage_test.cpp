// SPDX-License-Identifier: Apache-2.0
#include "host/storage/system_storage.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "host/process/child_runner.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/fuse_server.hpp"
#include "tests/support/host/loop_filesystem.hpp"

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

Command storage_helper() {
  return {.program = paths::fake("fake_helper"), .arguments = {"storage"}, .environment = own_environment()};
}

class SystemStorage : public ::testing::Test {
 protected:
  Mount find(const std::string& mount_point) const {
    const auto mounts = filesystems_.mounts().value();
    const auto found = std::find_if(mounts.begin(), mounts.end(),
                                    [&](const Mount& mount) { return mount.mount_point == mount_point; });
    EXPECT_NE(found, mounts.end()) << mount_point;
    return found == mounts.end() ? Mount{} : *found;
  }

  Files files_;
  HelperClient helper_{"storage", storage_helper()};
  SystemFilesystems filesystems_{files_, helper_};
};

TEST_F(SystemStorage, sees_the_root_of_this_machine) {
  const Usage usage = filesystems_.usage(find("/"), mono_now() + 20s).value();
  EXPECT_GT(usage.total_bytes, 0U);
  EXPECT_LE(usage.available_bytes, usage.total_bytes);
  EXPECT_EQ(read_usage("/no/such/place").error().code, Errc::not_found);
}

TEST_F(SystemStorage, asks_a_mount_that_may_hang_in_the_helper) {
  Mount mount;
  mount.mount_point = "/";
  mount.type = "nfs4";
  mount.is_network = true;
  const auto usage = filesystems_.usage(mount, mono_now() + 20s);
  ASSERT_TRUE(usage.has_value()) << usage.error().what;
  EXPECT_EQ(usage->total_bytes, read_usage("/")->total_bytes);
  mount.mount_point = "/no/such/place";
  EXPECT_EQ(filesystems_.usage(mount, mono_now() + 20s).error().code, Errc::not_found);
  EXPECT_EQ(helper_.stats().calls, 2U);
  EXPECT_EQ(helper_.stats().starts, 1U);
}

TEST_F(SystemStorage, a_hanging_mount_costs_one_helper_and_comes_back) {
  HangingMount hanging;
  if (!hanging.why_not().empty()) GTEST_SKIP() << "no FUSE mount here: " << hanging.why_not();
  const Mount mount = find(hanging.path());
  EXPECT_TRUE(may_hang(mount));

  EXPECT_EQ(filesystems_.usage(mount, mono_now() + 300ms).error().code, Errc::timed_out);
  EXPECT_EQ(helper_.stats().stuck, 1);  // killed, and still in the kernel
  const std::uint64_t calls = helper_.stats().calls;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(filesystems_.usage(mount, mono_now() + 300ms).error().code, Errc::timed_out);
  EXPECT_EQ(helper_.stats().calls, calls);
  EXPECT_EQ(helper_.stats().stuck, 1);

  hanging.answer(true);
  Mount other;
  other.mount_point = "/";
  other.type = "fuse.other";
  EXPECT_TRUE(filesystems_.usage(other, mono_now() + 20s).has_value());
}

TEST_F(SystemStorage, no_more_than_two_helpers_hang) {
  HangingMount hanging;
  if (!hanging.why_not().empty()) GTEST_SKIP() << "no FUSE mount here: " << hanging.why_not();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ask_usage(helper_, hanging.path(), mono_now() + 300ms).error().failure,
              HelperFailure::timed_out);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask_usage(helper_, hanging.path(), mono_now() + 300ms).error().failure,
              HelperFailure::exhausted);
  EXPECT_EQ(helper_.stats().stuck, 2);
  EXPECT_EQ(helper_.stats().starts, 2U);
}

// The same where the process stands in the kernel itself (state D), not in a server that is asked for it.
TEST(HelpersOfThisKernel, no_more_than_two_stand_in_a_frozen_filesystem_and_they_end_when_it_thaws) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const LoopFilesystem filesystem;
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  Command command = storage_helper();
  command.arguments = {"writes"};
  HelperClient client("writes", command);
  FrozenFilesystem frozen(filesystem.path());
  if (!frozen.why_not().empty()) GTEST_SKIP() << "no filesystem can be frozen here: " << frozen.why_not();

  const std::string file = '"' + filesystem.path() + "/file\"";
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client.call("write", file, mono_now() + 300ms).error().failure, HelperFailure::timed_out);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client.call("write", file, mono_now() + 300ms).error().failure, HelperFailure::exhausted);
  EXPECT_EQ(client.stats().stuck, 2);  // killed, and still in the kernel
  EXPECT_EQ(client.stats().starts, 2U);

  frozen.thaw();
  bool answers = false;
  for (const MonoTime end = mono_now() + 20s; !answers && mono_now() < end;)
    answers = client.call("write", file, mono_now() + 5s).has_value();
  EXPECT_TRUE(answers);
}

TEST_F(SystemStorage, a_mount_answers_again_after_its_server_did) {
  HangingMount hanging;
  if (!hanging.why_not().empty()) GTEST_SKIP() << "no FUSE mount here: " << hanging.why_not();
  EXPECT_EQ(ask_usage(helper_, hanging.path(), mono_now() + 300ms).error().failure, HelperFailure::timed_out);
  EXPECT_EQ(helper_.stats().stuck, 1);
  hanging.answer(true);
  const auto usage = ask_usage(helper_, hanging.path(), mono_now() + 20s);
  ASSERT_TRUE(usage.has_value()) << usage.error().error.what;
  EXPECT_EQ(usage->total_bytes, 409600U);
}

TEST_F(SystemStorage, a_child_that_hangs_in_the_kernel_is_given_up_and_counted) {
  HangingMount hanging;
  if (!hanging.why_not().empty()) GTEST_SKIP() << "no FUSE mount here: " << hanging.why_not();
  ChildRunner runner;
  RunLimits limits;
  limits.grace = 50ms;
  limits.patience = 100ms;
  const auto report =
      runner.run({.program = "/usr/bin/stat", .arguments = {"-f", hanging.path()}, .environment = {}},
                 mono_now() + 300ms, limits);
  ASSERT_TRUE(report.has_value()) << report.error().what;
  EXPECT_EQ(report->end, ChildEnd::timed_out);
  EXPECT_TRUE(report->was_abandoned);
  EXPECT_EQ(runner.abandoned(), 1U);
}

TEST_F(SystemStorage, nvme_health_of_a_missing_controller_is_not_found) {
  const SystemNvmeDevices devices(files_, helper_);
  ASSERT_TRUE(devices.controllers().has_value());
  EXPECT_EQ(devices.health("nvme4242", mono_now() + 20s).error().code, Errc::not_found);
  EXPECT_EQ(devices.health("../etc/passwd", mono_now() + 20s).error().code, Errc::malformed);
  EXPECT_EQ(devices.health("nvme0n1", mono_now() + 20s).error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::host
