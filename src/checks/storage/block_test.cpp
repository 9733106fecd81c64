// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "checks/builtin.hpp"
#include "host/clock/system_clock.hpp"
#include "host/kernel_log/kernel_log_tail.hpp"
#include "tests/fakes/fake_host.hpp"
#include "tests/support/checks/log_check_fixture.hpp"
#include "tests/support/host/loop_filesystem.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::checks {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class StorageBlock : public LogCheckTest {
 protected:
  StorageBlock() : LogCheckTest(kStorageBlock, 30s) {}
  void add_disk(const std::string& name) { folder_.write("/sys/block/" + name + "/size", "1000\n"); }
  void set(const std::string& name, int completed, int in_flight) {
    add_disk(name);
    folder_.write("/sys/block/" + name + "/stat",
                  std::to_string(completed) + " 0 0 0 0 0 0 0 " + std::to_string(in_flight) + " 0 0\n");
  }
  std::vector<std::string> words(Duration later = 30s) {
    std::vector<std::string> list;
    for (const Finding& finding : look(later))
      list.push_back(finding.subject.key + " " + reason_of(finding));
    return list;
  }
};

TEST_F(StorageBlock, a_disk_that_finishes_nothing_for_two_minutes_stalls) {
  set("sda", 100, 4);
  EXPECT_THAT(words(), IsEmpty());
  EXPECT_THAT(words(60s), IsEmpty());
  EXPECT_THAT(words(60s), ElementsAre("sda degraded io_stalled"));
  EXPECT_THAT(look(0s).at(0).message, HasSubstr("4 requests are in flight, and none has finished for 2m"));
  set("sda", 101, 4);
  EXPECT_THAT(words(), IsEmpty());
  set("sda", 101, 0);
  EXPECT_THAT(words(10min), IsEmpty());  // idle
}

TEST_F(StorageBlock, what_is_made_of_disks_is_not_watched_beside_them) {
  for (const char* name : {"sda", "dm-0", "nvme0n1", "loop1"})
    set(name, 100, 1);
  folder_.write("/sys/block/dm-0/slaves/sda", "");
  words();
  EXPECT_THAT(words(120s), ElementsAre("loop1 degraded io_stalled", "sda degraded io_stalled"));
}

TEST_F(StorageBlock, failed_requests_are_of_the_whole_disk) {
  set("sda", 100, 0);
  folder_.write("/sys/devices/block/sda/sda1/partition", "1\n");
  folder_.link("/sys/class/block/sda1", "/sys/devices/block/sda/sda1");
  say("Buffer I/O error on dev sda1, logical block 4096, lost async page write");
  say("I/O error, dev sda, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2");
  say("critical medium error, dev sdb, sector 9 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2");
  say("I/O error, dev nvme1n1, sector 1 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2");
  EXPECT_THAT(words(),
              ElementsAre("nvme1 degraded io_errors", "sda degraded io_errors", "sdb degraded media_errors"));
  EXPECT_THAT(look(0s).at(1).message, HasSubstr("(2 lines)"));
  EXPECT_THAT(words(2h), IsEmpty());
}

TEST_F(StorageBlock, refusals_and_lines_of_user_space_are_no_failures) {
  set("sda", 100, 0);
  say("operation not supported error, dev sda, sector 2048 op 0x9:(WRITE_ZEROES) flags 0x800");
  say("critical target error, dev sda, sector 2048 op 0x3:(DISCARD) flags 0x800");
  say("I/O error, dev sda, sector 2048 op 0x1:(WRITE) flags 0x800", 1);
  EXPECT_THAT(words(), IsEmpty());
}

TEST_F(StorageBlock, without_sysfs_the_log_still_tells) {
  say("end_request: I/O error, dev sda, sector 2048");
  EXPECT_THAT(words(), ElementsAre("sda degraded io_errors"));
}

TEST_F(StorageBlock, many_disks_are_left_out_and_counted) {
  for (int i = 0; i < 260; ++i)
    set("sd" + std::to_string(i), 1, 0);
  look();
  EXPECT_EQ(history_.subjects(SubjectKind::disk).size(), 256U);
  EXPECT_EQ(history_.number(host_subject(), "block.left_out"), 4);
}

}  // namespace

// storage.block against disks that the running kernel really has. Needs root and loop devices.

namespace {

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
