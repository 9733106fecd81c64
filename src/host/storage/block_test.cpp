// SPDX-License-Identifier: Apache-2.0
#include "host/storage/block.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kStat = "  10 0 80 5  20 0 160 7  3 12 12  4 0 0 0  6 1\n";

TEST(BlockStat, counts_everything_completed_and_in_flight) {
  const BlockActivity activity = parse_block_stat(kStat).value();
  EXPECT_EQ(activity.completed, 40U);
  EXPECT_EQ(activity.in_flight, 3U);
  EXPECT_EQ(parse_block_stat("1 0 0 0 2 0 0 0 9 0 0")->completed, 3U);
}

TEST(BlockStat, garbage_is_malformed) {
  for (const std::string_view text : {"", "1 2 3", "a 0 0 0 2 0 0 0 9 0 0", "1 0 0 0 2 0 0 0 -9 0 0",
                                      "1 0 0 0 2 0 0 0 99999999999999999999999 0 0"})
    EXPECT_EQ(parse_block_stat(text).error().code, Errc::malformed) << text;
}

TEST(BlockActivityOfNvme, is_the_sum_of_its_namespaces) {
  const TestFolder folder;
  const Files files(folder.path());
  folder.write("/sys/block/nvme1n1/stat", kStat);
  folder.write("/sys/block/nvme1n2/stat", kStat);
  folder.write("/sys/block/nvme1c1n1/stat", kStat);
  folder.write("/sys/block/nvme10n1/stat", kStat);
  folder.write("/sys/block/nvme2n1/stat", "garbage");
  EXPECT_EQ(read_nvme_activity(files, "nvme1")->completed, 80U);
  EXPECT_EQ(read_nvme_activity(files, "nvme3").error().code, Errc::not_found);
  EXPECT_THAT(read_nvme_activity(files, "nvme2").error().what, HasSubstr("/sys/block/nvme2n1/stat"));
}

TEST(BlockDevices, are_told_apart_by_what_they_are_made_of) {
  const TestFolder folder;
  const Files files(folder.path());
  EXPECT_EQ(scan_block_devices(files).error().code, Errc::unavailable);
  folder.write("/sys/kernel/x", "");
  EXPECT_TRUE(scan_block_devices(files)->empty());
  for (const char* name : {"sda", "fd0", "sr0", "ram1", "zram0", "dm-0", "rampart"})
    folder.write(std::string("/sys/block/") + name + "/size", "1000215216\n");
  folder.write("/sys/block/loop0/size", "0\n");
  folder.write("/sys/block/dm-0/slaves/sda2", "");
  std::string text;
  const auto devices = scan_block_devices(files).value();
  for (const BlockDevice& device : devices)
    text += device.name + (device.sectors == 0 ? " empty" : "") + (device.is_on_others ? " stacked" : "") +
            (device.is_in_memory ? " memory" : "") + (device.has_weak_medium ? " weak" : "") + "\n";
  EXPECT_EQ(text, "dm-0 stacked\nfd0 weak\nloop0 empty\nram1 memory\nrampart\nsda\nsr0 weak\nzram0 memory\n");
}

TEST(DiskOfPartition, is_found_in_the_device_tree) {
  const TestFolder folder;
  const Files files(folder.path());
  folder.write("/sys/devices/pci/block/sda/sda1/partition", "1\n");
  folder.link("/sys/class/block/sda1", "/sys/devices/pci/block/sda/sda1");
  folder.link("/sys/class/block/sda", "/sys/devices/pci/block/sda");
  EXPECT_EQ(disk_of_partition(files, "sda1"), "sda");
  EXPECT_EQ(disk_of_partition(files, "sda"), "sda");
  EXPECT_EQ(disk_of_partition(files, "sdq7"), "sdq7");
  EXPECT_EQ(disk_of_partition(files, "../../etc/passwd"), "../../etc/passwd");
}

TEST(DeviceNumber, is_that_of_a_block_device) {
  const TestFolder folder;
  const Files files(folder.path());
  folder.write("/sys/class/block/sda1/dev", "8:1\n");
  EXPECT_EQ(device_number(files, "sda1"), "8:1");
  for (const char* name : {"sda2", "", "../../etc/passwd"})
    EXPECT_EQ(device_number(files, name), "") << name;
}

TEST(BlockActivityOfThisMachine, can_be_read) {
  const Files files;
  const auto names = files.list("/sys/block");
  if (!names || names->empty()) GTEST_SKIP() << "no block device here";
  EXPECT_TRUE(read_block_activity(files, names->front()).has_value());
}

}  // namespace
}  // namespace autopilot::host
