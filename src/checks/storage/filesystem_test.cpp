// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/files/fd.hpp"
#include "host/storage/system_storage.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/fuse_server.hpp"
#include "tests/support/host/loop_filesystem.hpp"

namespace autopilot::checks {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct FakeFilesystems : host::Filesystems {
  std::string mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
  std::map<std::string, Result<host::Usage>> answers;

  [[nodiscard]] Result<std::vector<host::Mount>> mounts() const override {
    return host::parse_mountinfo(mountinfo);
  }
  [[nodiscard]] Result<host::Usage> usage(const host::Mount& mount, MonoTime) const override {
    const auto found = answers.find(mount.mount_point);
    return found == answers.end() ? host::Usage{.total_bytes = 1000,
                                                .free_bytes = 500,
                                                .available_bytes = 450,
                                                .total_inodes = 100,
                                                .free_inodes = 60}
                                  : found->second;
  }
};

class StorageFilesystem : public ::testing::Test {
 protected:
  // One more round; the findings after it.
  Findings look(Duration later = 30s) {
    empty_.clock.advance(later);
    const Instant now = empty_.clock.now();
    auto observed =
        kStorageFilesystem.observe(host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = 0});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kStorageFilesystem.info.window);
    return kStorageFilesystem.judge(
        {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = expectation_});
  }
  static std::vector<std::string> words(const Findings& findings) {
    std::vector<std::string> list;
    for (const Finding& finding : findings)
      list.push_back(finding.subject.key + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }

  fakes::EmptyHost empty_;
  FakeFilesystems filesystems_;
  host::Host host_{empty_.clock, empty_.files,    empty_.kernel_log, empty_.gpus,
                   filesystems_, empty_.ethernet, empty_.time_sync,  empty_.nvme};
  History history_;
  Expectation expectation_;
  std::vector<std::string> witnesses_;
};

TEST_F(StorageFilesystem, says_nothing_about_a_sound_machine) {
  EXPECT_THAT(look(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("/proc/self/mountinfo", "statfs"));
  const Subject root{.kind = SubjectKind::mount, .key = "/", .index = {}, .uuid = {}, .serial = {}};
  EXPECT_EQ(history_.number(root, "filesystem.available_bytes"), 450);
  EXPECT_EQ(history_.number(root, "filesystem.read_only"), 0);
}

TEST_F(StorageFilesystem, the_kernel_made_it_read_only) {
  filesystems_.mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 ro,errors=remount-ro\n";
  const Findings findings = look();
  ASSERT_THAT(words(findings), ElementsAre("/ failed filesystem_read_only"));
  EXPECT_EQ(findings[0].action, Action::inspect_hardware);
  EXPECT_EQ(*find_attribute(findings[0].evidence, "source"), Value("/dev/sda1"));
  filesystems_.mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw,emergency_ro\n";
  EXPECT_THAT(words(look()), ElementsAre("/ failed filesystem_read_only"));
}

TEST_F(StorageFilesystem, read_only_on_purpose_is_fine_however_full) {
  filesystems_.mountinfo = "1 0 8:1 / / ro - ext4 /dev/mapper/root ro\n";
  filesystems_.answers.emplace("/", host::Usage{.total_bytes = 1000, .total_inodes = 10});
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(StorageFilesystem, remounted_read_only_while_we_looked_is_told_for_a_while) {
  EXPECT_THAT(look(), IsEmpty());
  filesystems_.mountinfo = "1 0 8:1 / / ro - ext4 /dev/sda1 ro\n";
  EXPECT_THAT(words(look()), ElementsAre("/ degraded filesystem_read_only"));
  EXPECT_THAT(words(look()), ElementsAre("/ degraded filesystem_read_only"));
  EXPECT_THAT(look(15min), IsEmpty());
}

TEST_F(StorageFilesystem, full_and_nearly_full) {
  const auto with = [&](std::uint64_t total, std::uint64_t free, std::uint64_t available) {
    filesystems_.answers.insert_or_assign(
        "/", host::Usage{.total_bytes = total, .free_bytes = free, .available_bytes = available});
    return words(look());
  };
  EXPECT_THAT(with(1000, 50, 0), ElementsAre("/ failed filesystem_full"));
  EXPECT_THAT(with(1000, 100, 50), ElementsAre("/ degraded filesystem_nearly_full"));
  EXPECT_THAT(with(1000, 200, 150), IsEmpty());
  // 5 % of 30 TB is still more than any checkpoint.
  EXPECT_THAT(with(30'000'000'000'000, 1'500'000'000'000, 1'500'000'000'000), IsEmpty());
  // A filesystem that does not count says nothing.
  EXPECT_THAT(with(0, 0, 0), IsEmpty());
}

TEST_F(StorageFilesystem, the_operators_number_counts) {
  filesystems_.answers.emplace("/",
                               host::Usage{.total_bytes = 1000, .free_bytes = 500, .available_bytes = 500});
  expectation_.thresholds["storage.filesystem.nearly_full_used_ratio"] = 0.5;
  const Findings findings = look();
  ASSERT_THAT(words(findings), ElementsAre("/ degraded filesystem_nearly_full"));
  EXPECT_EQ(*find_attribute(findings[0].evidence, "thresholdSource"), Value("configuration"));
  EXPECT_THAT(findings[0].message, HasSubstr("50 % full: 500 B of 1.0 kB left"));
}

TEST_F(StorageFilesystem, inodes) {
  const auto with = [&](std::uint64_t total, std::uint64_t free) {
    filesystems_.answers.insert_or_assign("/", host::Usage{.total_bytes = 1000,
                                                           .free_bytes = 500,
                                                           .available_bytes = 500,
                                                           .total_inodes = total,
                                                           .free_inodes = free});
    return words(look());
  };
  EXPECT_THAT(with(100, 0), ElementsAre("/ failed inodes_exhausted"));
  EXPECT_THAT(with(100, 5), ElementsAre("/ degraded inodes_low"));
  EXPECT_THAT(with(100, 6), IsEmpty());
  EXPECT_THAT(with(0, 0), IsEmpty());
}

TEST_F(StorageFilesystem, a_hanging_mount_does_not_blind_the_others) {
  filesystems_.mountinfo +=
      "2 1 0:40 / /data rw - nfs4 filer:/data rw\n3 1 8:2 / /raid rw - xfs /dev/sdb rw\n";
  filesystems_.answers.emplace("/data", fail(Errc::timed_out, "/data: no answer"));
  filesystems_.answers.emplace("/raid", host::Usage{.total_bytes = 1000});
  EXPECT_THAT(words(look()), ElementsAre("/data failed mount_hangs", "/raid failed filesystem_full"));
}

TEST_F(StorageFilesystem, tells_could_not_look_from_broken) {
  const auto with = [&](Errc code) {
    filesystems_.answers.insert_or_assign("/", fail(code, "no"));
    return words(look());
  };
  EXPECT_THAT(with(Errc::unavailable), ElementsAre("/ failed mount_broken"));
  EXPECT_THAT(with(Errc::exhausted), ElementsAre("/ unknown limit_reached"));
  EXPECT_THAT(with(Errc::internal), ElementsAre("/ unknown could_not_look"));
  EXPECT_THAT(with(Errc::denied), ElementsAre("/ unknown not_permitted"));
  EXPECT_THAT(witnesses_, ElementsAre("/proc/self/mountinfo"));
  EXPECT_EQ(history_
                .find({.kind = SubjectKind::mount, .key = "/", .index = {}, .uuid = {}, .serial = {}},
                      "filesystem.available_bytes")
                ->missing,
            "denied");
}

TEST_F(StorageFilesystem, a_mount_of_another_users_program_may_refuse) {
  filesystems_.mountinfo += "2 1 0:40 / /run/user/7/doc rw - fuse.portal portal rw\n";
  filesystems_.answers.emplace("/run/user/7/doc", fail(Errc::denied, "no"));
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(StorageFilesystem, ignored_mounts_are_not_judged) {
  filesystems_.mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 ro\n";
  expectation_.ignored_mounts = {"/"};
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(StorageFilesystem, a_malformed_list_is_an_error_of_looking) {
  filesystems_.mountinfo = "garbage";
  const Instant now = empty_.clock.now();
  const auto observed =
      kStorageFilesystem.observe(host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = 0});
  EXPECT_EQ(observed.error().code, Errc::malformed);
}

}  // namespace

// storage.filesystem against filesystems that the running kernel really has. Needs root, loop devices and
// FUSE.

namespace {

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
    EXPECT_NE(history_.find(mount, "filesystem.read_only"), nullptr) << mount_point << " was not read";
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
