// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/storage/system_storage.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/test_log.hpp"
#include "tests/support/host/loop_filesystem.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

struct FakeMounts : host::Filesystems {
  std::string mountinfo;
  [[nodiscard]] Result<std::vector<host::Mount>> mounts() const override {
    return host::parse_mountinfo(mountinfo);
  }
  [[nodiscard]] Result<host::Usage> usage(const host::Mount& mount, MonoTime) const override {
    return fail(Errc::not_found, mount.mount_point);
  }
};

class StorageFsErrors : public ::testing::Test {
 protected:
  StorageFsErrors() {
    mounts_.mountinfo =
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 253:3 / /data rw - xfs /dev/mapper/vg-data rw\n"
        "3 1 0:30 / /pool rw - btrfs /dev/sdb1 rw\n";
    folder_.write("/sys/class/block/sda1/dev", "8:1\n");
    folder_.write("/sys/class/block/dm-3/dev", "253:3\n");
    folder_.write("/sys/fs/ext4/sda1/errors_count", "0\n");
  }
  void say(const std::string& text, int facility = 0) {
    log_.write(empty_.clock.now(), text, [&](host::KernelRecord& record) { record.facility = facility; });
  }
  Result<Observed> observe() {
    const Instant now = empty_.clock.now();
    return kStorageFsErrors.observe(host_,
                                    {.now = now, .deadline = now.mono + 5s, .kernel_log_from = next_record_});
  }
  Findings look(Duration later = 5min) {
    empty_.clock.advance(later);
    auto observed = observe();
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(0);
    history_.add(std::move(observed->observations), kStorageFsErrors.info.window);
    return kStorageFsErrors.judge({.now = empty_.clock.now(),
                                   .history = history_,
                                   .facts = catalog::builtin(),
                                   .expectation = expectation_});
  }
  std::vector<std::string> words() {
    std::vector<std::string> list;
    for (const Finding& finding : look())
      list.push_back(to_string(finding.subject) + " " + std::string(to_string(finding.health)) + " " +
                     finding.reason);
    return list;
  }

  host::TestFolder folder_;
  fakes::EmptyHost empty_;
  host::Files files_{folder_.path()};
  FakeMounts mounts_;
  TestLog log_;
  host::Host host_{empty_.clock,    files_,           log_,       empty_.gpus, mounts_,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  Expectation expectation_;
  std::uint64_t next_record_ = 0;
};

TEST_F(StorageFsErrors, are_told_by_the_mount_that_people_know) {
  EXPECT_THAT(words(), IsEmpty());
  folder_.write("/sys/fs/ext4/sda1/errors_count", "2\n");
  folder_.write("/sys/fs/ext4/sda1/last_error_time", "1700000100\n");
  folder_.write("/sys/fs/ext4/sda1/last_error_func", "ext4_find_entry\n");
  say("XFS (dm-3): metadata I/O error in \"xfs_read_agf+0x8d/0x110 [xfs]\" at daddr 0x1 len 1 error 5");
  say("BTRFS error (device sdb1): bdev /dev/sdb1 errs: wr 5, rd 0, flush 0, corrupt 0, gen 0");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(
      findings[0].message,
      "/ (ext4 on sda1) has 2 errors that fsck has not repaired, the last at 2023-11-14T22:15:00.000Z in "
      "ext4_find_entry");
  EXPECT_EQ(findings[1].subject.key, "/data");
  EXPECT_EQ(findings[2].subject.key, "/pool");
}

TEST_F(StorageFsErrors, lines_of_ext4_count_where_its_counter_says_nothing) {
  say("EXT4-fs error (device sda1) in ext4_reserve_inode_write:5730: IO failure");
  say("EXT4-fs (sda1): I/O error while writing superblock");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "/ (on sda1): the kernel reported damage, 2 lines in the last 1d");
  say("EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.");
  EXPECT_THAT(words(), IsEmpty()) << "repaired and mounted again";
}

TEST_F(StorageFsErrors, one_that_takes_no_writes_any_more_has_failed) {
  say("EXT4-fs error (device sda1) in ext4_reserve_inode_write:5730: IO failure");
  EXPECT_THAT(words(), ElementsAre("mount// degraded filesystem_errors"));
  say("Aborting journal on device sda1-8.");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].health, Health::failed);
  EXPECT_EQ(findings[0].message, "/ (on sda1) was shut down by the kernel and refuses all writes");
  say("EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.");
  EXPECT_THAT(words(), IsEmpty());
  say("EXT4-fs (sda1): Remounting filesystem read-only");
  EXPECT_THAT(words(), ElementsAre("mount// failed filesystem_shut_down"));
  say("EXT4-fs (sda1): re-mounted 2f8a3c1e-5f43-4b0a-9c62-6f1d8f0f7a11 r/w. Quota mode: none.");
  EXPECT_THAT(words(), IsEmpty());
  say("BTRFS info (device sdb1: state EA): forced readonly");
  EXPECT_THAT(words(), ElementsAre("mount//pool failed filesystem_shut_down"));
}

TEST_F(StorageFsErrors, what_ext4_counts_and_logs_is_told_once) {
  folder_.write("/sys/fs/ext4/sda1/errors_count", "1\n");
  say("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(find_attribute(findings[0].evidence, "line"), nullptr);
}

TEST_F(StorageFsErrors, of_a_filesystem_that_a_container_does_not_see_are_of_its_device) {
  mounts_.mountinfo = "1 0 0:60 / / rw - overlay overlay rw\n";
  folder_.write("/sys/fs/ext4/sda1/errors_count", "1\n");
  EXPECT_THAT(words(), ElementsAre("disk/sda1 degraded filesystem_errors"));
}

TEST_F(StorageFsErrors, a_shutdown_ends_with_the_next_mount_wherever_that_is) {
  say("XFS (dm-3): I/O Error Detected. Shutting down filesystem");
  EXPECT_THAT(words(), ElementsAre("mount//data failed filesystem_shut_down"));
  mounts_.mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
  EXPECT_THAT(words(), ElementsAre("mount//data failed filesystem_shut_down"));
  say("XFS (dm-3): Mounting V5 Filesystem");
  mounts_.mountinfo += "2 1 253:3 / /elsewhere rw - xfs /dev/mapper/vg-data rw\n";
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageFsErrors, lines_of_user_space_and_ignored_mounts_do_not_count) {
  say("XFS (dm-3): I/O Error Detected. Shutting down filesystem", 1);
  EXPECT_THAT(words(), IsEmpty());
  say("XFS (dm-3): I/O Error Detected. Shutting down filesystem");
  expectation_.ignored_mounts = {"/data"};
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageFsErrors, nobody_to_ask_is_unknown_and_nothing_to_ask_about_unsupported) {
  const host::Files nothing("/nonexistent");
  const host::Host blind{empty_.clock, nothing,         empty_.kernel_log, empty_.gpus,
                         mounts_,      empty_.ethernet, empty_.time_sync,  empty_.nvme};
  const Instant now = empty_.clock.now();
  EXPECT_EQ(kStorageFsErrors.observe(blind, {.now = now, .deadline = now.mono + 5s}).error().code,
            Errc::unavailable);
  mounts_.mountinfo = "1 0 0:2 / / rw - tmpfs root rw\n";
  EXPECT_EQ(kStorageFsErrors.observe(blind, {.now = now, .deadline = now.mono + 5s}).error().code,
            Errc::unsupported);
}

}  // namespace

// storage.fs_errors against filesystems that the running kernel really damaged. Needs root, loop
// devices, and for XFS the kernel log and xfs_io.

namespace {

using host::LoopFilesystem;
using host::run_program;
using ::testing::HasSubstr;

class StorageFsErrorsOfThisKernel : public ::testing::Test {
 protected:
  static constexpr auto kPatience = 20s;

  // Findings about one mount after one more look at the whole machine.
  Findings look_at(const std::string& mount_point) {
    const Instant now = clock_.now();
    auto observed = kStorageFsErrors.observe(
        host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = next_record_});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(0);
    reads_log_ = observed->kernel_log_next.has_value();
    history_.add(std::move(observed->observations), kStorageFsErrors.info.window);
    Findings findings;
    for (Finding& finding : kStorageFsErrors.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      if (finding.subject.key == mount_point) findings.push_back(std::move(finding));
    return findings;
  }

  host::SystemClock clock_;
  host::Files files_;
  host::KernelLogTail kernel_log_{[this] { return host::open_kernel_log(clock_); }};
  host::HelperClient helper_{"storage", {.program = "/nonexistent", .arguments = {}, .environment = {}}};
  host::SystemFilesystems filesystems_{files_, helper_};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,       files_,          kernel_log_,      empty_.gpus,
                   filesystems_, empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t next_record_ = 0;
  bool reads_log_ = false;
};

TEST_F(StorageFsErrorsOfThisKernel, ext4_remembers_an_error_until_fsck_repaired_it) {
  const LoopFilesystem filesystem({.mount = "errors=continue"});
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
  const std::string problem =
      run_program({"sh", "-c", "echo test > /sys/fs/ext4/" + filesystem.device() + "/trigger_fs_error"});
  if (!problem.empty()) GTEST_SKIP() << "this kernel makes no errors on demand: " << problem;
  // The kernel writes the count and its time down a moment after its log line.
  Findings findings;
  const auto has_count = [&findings] { return !findings.empty() && findings[0].since > WallTime{}; };
  for (const MonoTime end = clock_.now().mono + kPatience; !has_count() && clock_.now().mono < end;)
    findings = look_at(filesystem.path());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "filesystem_errors");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_THAT(findings[0].message, HasSubstr("has 1 error that fsck has not repaired"));
  EXPECT_GT(findings[0].since, WallTime{});

  ASSERT_EQ(run_program({"umount", filesystem.path()}), "");
  static_cast<void>(run_program({"e2fsck", "-fy", filesystem.image()}));  // 1: it repaired something
  ASSERT_EQ(run_program({"mount", "-o", "loop", filesystem.image(), filesystem.path()}), "");
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
}

TEST_F(StorageFsErrorsOfThisKernel, xfs_is_shut_down_until_it_is_mounted_again) {
  const LoopFilesystem filesystem({.mount = "rw", .make = {"mkfs.xfs", "-q", "-f"}, .megabytes = 320});
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no XFS here: " << filesystem.why_not();
  EXPECT_THAT(look_at(filesystem.path()), IsEmpty());
  if (!reads_log_) GTEST_SKIP() << "the kernel log cannot be read here";
  if (const std::string problem = run_program({"xfs_io", "-x", "-c", "shutdown", filesystem.path()});
      !problem.empty())
    GTEST_SKIP() << "nobody can shut it down: " << problem;
  Findings findings;
  for (const MonoTime end = clock_.now().mono + kPatience; findings.empty() && clock_.now().mono < end;)
    findings = look_at(filesystem.path());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "filesystem_shut_down");
  EXPECT_EQ(findings[0].health, Health::failed);
  EXPECT_THAT(to_string(*find_attribute(findings[0].evidence, "line")), HasSubstr("hutting down filesystem"));

  ASSERT_EQ(run_program({"umount", filesystem.path()}), "");
  ASSERT_EQ(run_program({"mount", "-o", "loop", filesystem.image(), filesystem.path()}), "");
  for (const MonoTime end = clock_.now().mono + kPatience; !findings.empty() && clock_.now().mono < end;)
    findings = look_at(filesystem.path());
  EXPECT_THAT(findings, IsEmpty());
}

}  // namespace

}  // namespace autopilot::checks
