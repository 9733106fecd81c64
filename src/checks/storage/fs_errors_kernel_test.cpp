// SPDX-License-Identifier: Apache-2.0
// storage.fs_errors against filesystems that the running kernel really damaged. Needs root, loop
// devices, and for XFS the kernel log and xfs_io.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/helpers/helper_client.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/storage/loop_filesystem.hpp"
#include "host/storage/system_filesystems.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using host::LoopFilesystem;
using host::run_program;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

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
  Findings findings;  // the kernel writes the count down a moment later
  for (const MonoTime end = clock_.now().mono + kPatience; findings.empty() && clock_.now().mono < end;)
    findings = look_at(filesystem.path());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "filesystem_errors");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_THAT(findings[0].message, HasSubstr("has 1 error that no fsck repaired"));
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
