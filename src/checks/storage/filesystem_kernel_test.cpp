// SPDX-License-Identifier: Apache-2.0
// storage.filesystem against filesystems that the running kernel really has. Needs root, loop devices and
// FUSE.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/process/poll.hpp"
#include "host/storage/hanging_mount.hpp"
#include "host/storage/loop_filesystem.hpp"
#include "host/storage/system_filesystems.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

using host::LoopFilesystem;

class StorageFilesystemOfThisKernel : public ::testing::Test {
 protected:
  // Findings about one mount after one more look at the whole machine.
  std::vector<std::string> look_at(const std::string& mount_point) {
    const Instant now = clock_.now();
    auto observed =
        kStorageFilesystem.observe(host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = 0});
    if (!observed) return {observed.error().what};
    history_.add(std::move(observed->observations), kStorageFilesystem.info.window);
    const Subject mount{
        .kind = SubjectKind::mount, .key = mount_point, .index = {}, .uuid = {}, .serial = {}};
    EXPECT_NE(history_.find(mount, "filesystem.read_only"), nullptr) << mount_point << " was not looked at";
    std::vector<std::string> words;
    for (const Finding& finding : kStorageFilesystem.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      if (finding.subject == mount)
        words.push_back(std::string(to_string(finding.health)) + " " + finding.reason);
    return words;
  }

  host::SystemClock clock_;
  host::Files files_;
  host::HelperClient helper_{"storage",
                             {.program = paths::fake("fake_helper"),
                              .arguments = {"storage"},
                              .environment = host::own_environment()}};
  host::SystemFilesystems filesystems_{files_, helper_};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,       files_,          empty_.kernel_log, empty_.gpus,
                   filesystems_, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
};

TEST_F(StorageFilesystemOfThisKernel, a_sound_one_then_full_then_sound_again) {
  const LoopFilesystem filesystem;
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
  const std::string filler = filesystem.path() + "/filler";
  EXPECT_THAT(host::run_program({"dd", "if=/dev/zero", "of=" + filler, "bs=1M"}),
              ::testing::HasSubstr("No space left"));
  EXPECT_THAT(look_at(filesystem.path()), ElementsAre("failed filesystem_full"));
  std::filesystem::remove(filler);
  EXPECT_EQ(host::run_program({"sync", "-f", filesystem.path()}), "");
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
}

TEST_F(StorageFilesystemOfThisKernel, one_without_inodes) {
  const LoopFilesystem filesystem({.make = {"mkfs.ext4", "-q", "-F", "-N", "64"}});
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  for (int i = 0; i < 64; ++i)
    std::ofstream(filesystem.path() + "/" + std::to_string(i)).close();
  EXPECT_THAT(look_at(filesystem.path()), ElementsAre("failed inodes_exhausted"));
}

TEST_F(StorageFilesystemOfThisKernel, one_that_is_read_only_on_purpose) {
  const LoopFilesystem filesystem({.mount = "ro"});
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
}

TEST_F(StorageFilesystemOfThisKernel, one_that_somebody_remounted) {
  const LoopFilesystem filesystem;
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
  ASSERT_EQ(host::run_program({"mount", "-o", "remount,ro", filesystem.path()}), "");
  EXPECT_THAT(look_at(filesystem.path()), ElementsAre("degraded filesystem_read_only"));
}

TEST_F(StorageFilesystemOfThisKernel, one_that_the_kernel_stopped_after_an_error) {
  const LoopFilesystem filesystem;
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
  const std::string trigger = "echo test > /sys/fs/ext4/" + filesystem.device() + "/trigger_fs_error";
  if (const std::string problem = host::run_program({"sh", "-c", trigger}); !problem.empty())
    GTEST_SKIP() << "this kernel makes no errors on demand: " << problem;
  EXPECT_THAT(look_at(filesystem.path()), ElementsAre("failed filesystem_read_only"));
}

TEST_F(StorageFilesystemOfThisKernel, a_frozen_one_still_answers) {
  const LoopFilesystem filesystem;
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  ASSERT_EQ(host::run_program({"fsfreeze", "--freeze", filesystem.path()}), "");
  const auto words = look_at(filesystem.path());
  ASSERT_EQ(host::run_program({"fsfreeze", "--unfreeze", filesystem.path()}), "");
  EXPECT_THAT(words, IsEmpty());
}

TEST_F(StorageFilesystemOfThisKernel, one_whose_server_is_dead_and_comes_back) {
  host::HangingMount hanging;
  if (!hanging.why_not().empty()) GTEST_SKIP() << "no FUSE mount here: " << hanging.why_not();
  EXPECT_THAT(look_at(hanging.path()), ElementsAre("failed mount_hangs"));
  EXPECT_THAT(look_at("/"), ::testing::Not(::testing::Contains("failed mount_hangs")));
  EXPECT_EQ(helper_.stats().stuck, 1);
  hanging.answer(true);
  // A client that did not see it hang asks at once.
  const host::SystemFilesystems fresh(files_, helper_);
  host::Mount mount;
  mount.mount_point = hanging.path();
  mount.type = "fuse.sshfs";
  const auto usage = fresh.usage(mount, host::mono_now() + 20s);
  EXPECT_TRUE(usage.has_value()) << usage.error().what;
}

}  // namespace
}  // namespace autopilot::checks
