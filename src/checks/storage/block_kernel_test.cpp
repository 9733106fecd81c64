// SPDX-License-Identifier: Apache-2.0
// storage.block against disks that the running kernel really has. Needs root and loop devices.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/files/test_folder.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "host/storage/loop_filesystem.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::checks {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

std::string make_image(const std::string& path, int megabytes) {
  std::ofstream(path).close();
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(megabytes) << 20);
  return path;
}

class StorageBlockOfThisKernel : public ::testing::Test {
 protected:
  // Findings about one disk after one more look at the whole machine, `later` after the last.
  Findings look_at(const std::string& disk, Duration later = 0s) {
    offset_ += later;
    Instant now = clock_.now();
    now.mono += offset_;
    now.wall += offset_;
    auto observed = kStorageBlock.observe(
        host_, {.now = now, .deadline = now.mono + 10s, .kernel_log_from = next_record_});
    if (!observed) {
      ADD_FAILURE() << observed.error().what;
      return {};
    }
    next_record_ = observed->kernel_log_next.value_or(0);
    witnesses_ = observed->witnesses;
    history_.add(std::move(observed->observations), kStorageBlock.info.window);
    Findings findings;
    for (Finding& finding : kStorageBlock.judge(
             {.now = now, .history = history_, .facts = catalog::builtin(), .expectation = {}}))
      if (finding.subject.key == disk) findings.push_back(std::move(finding));
    return findings;
  }
  // What other tests left in the log is not of this one.
  void forget_the_past() {
    look_at("");
    history_ = History();
  }
  [[nodiscard]] double in_flight(const std::string& disk) const {
    return static_cast<double>(host::read_block_activity(files_, disk)->in_flight);
  }

  host::SystemClock clock_;
  host::Files files_;
  host::KernelLogTail kernel_log_{[this] { return host::open_kernel_log(clock_); }};
  fakes::EmptyHost empty_;
  host::Host host_{clock_,          files_,           kernel_log_, empty_.gpus, empty_.filesystems,
                   empty_.ethernet, empty_.time_sync, empty_.nvme};
  History history_;
  std::uint64_t next_record_ = 0;
  Duration offset_{0};
  std::vector<std::string> witnesses_;
};

TEST_F(StorageBlockOfThisKernel, an_image_that_was_cut_gives_io_errors_that_the_kernel_logs) {
  const host::TestFolder folder;
  const std::string image = make_image(folder.path() + "/image", 16);
  const host::LoopDevice device(image);
  if (!device.why_not().empty()) GTEST_SKIP() << "no loop device here: " << device.why_not();
  forget_the_past();
  if (!::testing::Value(witnesses_, ::testing::Contains("/dev/kmsg")))
    GTEST_SKIP() << "the kernel log cannot be read here";
  EXPECT_THAT(look_at(device.name()), IsEmpty());

  std::filesystem::resize_file(image, 1 << 20);
  ASSERT_NE(host::run_program({"dd", "if=" + device.node(), "of=/dev/null", "bs=4096", "count=1", "skip=2048",
                               "iflag=direct"}),
            "");
  Findings findings;
  for (const MonoTime end = clock_.now().mono + kPatience; findings.empty() && clock_.now().mono < end;)
    findings = look_at(device.name());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "io_errors");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_FALSE(findings[0].injected);
  EXPECT_THAT(to_string(*find_attribute(findings[0].evidence, "line")),
              HasSubstr("I/O error, dev " + device.name() + ", sector 16384"));
}

TEST_F(StorageBlockOfThisKernel, a_disk_whose_blocks_are_on_a_frozen_filesystem_stalls_until_it_thaws) {
  const host::LoopFilesystem below;
  if (!below.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << below.why_not();
  const host::LoopDevice device(make_image(below.path() + "/image", 8));
  if (!device.why_not().empty()) GTEST_SKIP() << "no loop device here: " << device.why_not();
  forget_the_past();
  EXPECT_THAT(look_at(device.name()), IsEmpty());

  ASSERT_EQ(host::run_program({"fsfreeze", "--freeze", below.path()}), "");
  std::jthread writer([&] {
    host::run_program({"dd", "if=/dev/zero", "of=" + device.node(), "bs=4096", "count=1", "oflag=direct"});
  });
  for (const MonoTime end = clock_.now().mono + kPatience;
       in_flight(device.name()) == 0 && clock_.now().mono < end;)
    std::this_thread::yield();
  look_at(device.name(), 30s);
  EXPECT_THAT(look_at(device.name(), 60s), IsEmpty());
  const Findings findings = look_at(device.name(), 60s);
  ASSERT_EQ(host::run_program({"fsfreeze", "--unfreeze", below.path()}), "");
  writer.join();

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].reason, "io_stalled");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_THAT(look_at(device.name(), 30s), IsEmpty());
}

}  // namespace
}  // namespace autopilot::checks
