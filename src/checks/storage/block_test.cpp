// SPDX-License-Identifier: Apache-2.0
#include "checks/log_check_fixture.hpp"

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
  EXPECT_THAT(look(0s).at(0).message, HasSubstr("4 requests are in flight and none finished for 2m"));
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
}  // namespace autopilot::checks
