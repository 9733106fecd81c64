// SPDX-License-Identifier: Apache-2.0
#include "host/storage/block.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

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

class RaidArrays : public testing::Test {
 protected:
  void write(const std::string& array, const std::string& file, const std::string& text) const {
    folder_.write("/sys/block/" + array + "/md/" + file, text + "\n");
  }
  // As /sys shows a mirror that lost a member and rebuilds it on a spare.
  void write_rebuilding_mirror() const {
    write("md0", "array_state", "active");
    write("md0", "level", "raid1");
    write("md0", "raid_disks", "2");
    write("md0", "degraded", "1");
    write("md0", "sync_action", "recover");
    write("md0", "sync_completed", "250 / 1000");
    write("md0", "metadata_version", "1.2");
    write("md0", "dev-sda1/state", "in_sync,write_error");
    write("md0", "dev-sdb1/state", "faulty,blocked");
    write("md0", "dev-sdc1/state", "spare");
  }

  const TestFolder folder_;
  const Files files_{folder_.path()};
};

TEST_F(RaidArrays, are_read_with_their_members) {
  write_rebuilding_mirror();
  folder_.write("/sys/block/sda/size", "1\n");
  const auto arrays = scan_raid_arrays(files_);
  ASSERT_TRUE(arrays) << arrays.error().what;
  ASSERT_EQ(arrays->size(), 1U);
  const RaidArray& array = arrays->front();
  EXPECT_EQ(array.name, "md0");
  EXPECT_EQ(array.level, "raid1");
  EXPECT_EQ(array.state, "active");
  EXPECT_EQ(array.places, 2);
  EXPECT_EQ(array.missing, 1);
  EXPECT_EQ(array.action, "recover");
  EXPECT_EQ(array.progress, 0.25);
  EXPECT_FALSE(array.is_container);
  ASSERT_EQ(array.members.size(), 3U);
  EXPECT_TRUE(array.members[0].is_in_sync);
  EXPECT_TRUE(array.members[1].is_faulty);
  EXPECT_FALSE(array.members[2].is_in_sync || array.members[2].is_faulty);
}

TEST_F(RaidArrays, of_levels_without_redundancy_lack_some_files) {
  write("md1", "array_state", "clean");
  write("md1", "level", "raid0");
  write("md1", "raid_disks", "4");
  const RaidArray array = scan_raid_arrays(files_)->front();
  EXPECT_EQ(array.missing, 0);
  EXPECT_EQ(array.action, "");
  EXPECT_EQ(array.progress, std::nullopt);
}

TEST_F(RaidArrays, that_are_reshaped_have_two_numbers_of_members) {
  write_rebuilding_mirror();
  write("md0", "raid_disks", "3 (2)");
  EXPECT_EQ(scan_raid_arrays(files_)->front().places, 3);
}

TEST_F(RaidArrays, containers_of_firmware_raid_are_told_from_their_arrays) {
  write("md127", "array_state", "inactive");
  write("md127", "level", "");
  write("md127", "metadata_version", "external:imsm");
  write("md126", "array_state", "active");
  write("md126", "level", "raid1");
  write("md126", "metadata_version", "external:/md127/0");
  const auto arrays = scan_raid_arrays(files_);
  ASSERT_EQ(arrays->size(), 2U);
  EXPECT_FALSE((*arrays)[0].is_container);
  EXPECT_TRUE((*arrays)[1].is_container);
}

TEST_F(RaidArrays, none_is_told_from_no_sysfs_and_from_garbage) {
  EXPECT_EQ(scan_raid_arrays(files_).error().code, Errc::unavailable);
  folder_.write("/sys/kernel/x", "");
  EXPECT_TRUE(scan_raid_arrays(files_)->empty());
  write_rebuilding_mirror();
  write("md0", "degraded", "many");
  write("md1", "array_state", "clean");
  const auto arrays = scan_raid_arrays(files_);
  ASSERT_EQ(arrays->size(), 2U);
  ASSERT_TRUE((*arrays)[0].problem);
  EXPECT_EQ((*arrays)[0].problem->code, Errc::malformed);
  EXPECT_NE((*arrays)[0].problem->what.find("/sys/block/md0/md/degraded"), std::string::npos);
  EXPECT_FALSE((*arrays)[1].problem);
}

TEST_F(RaidArrays, one_that_does_not_tell_its_state_is_there_all_the_same) {
  write("md0", "level", "raid1");
  write("md1", "array_state", "Unknown");
  const auto arrays = scan_raid_arrays(files_);
  ASSERT_TRUE(arrays) << arrays.error().what;
  ASSERT_EQ(arrays->size(), 2U);
  ASSERT_TRUE((*arrays)[0].problem);
  EXPECT_EQ((*arrays)[0].problem->code, Errc::not_found);
  ASSERT_TRUE((*arrays)[1].problem);
  EXPECT_EQ((*arrays)[1].problem->code, Errc::malformed);
}

TEST(RaidProgress, is_a_share) {
  EXPECT_EQ(parse_raid_progress("1 / 4"), 0.25);
  for (const char* text : {"", "none", "delayed", "1 / 0", "5 / 4", "1/4", "-1 / 4", "a / b"})
    EXPECT_EQ(parse_raid_progress(text), std::nullopt) << text;
}

TEST(RaidArraysOfThisMachine, can_be_asked) {
  const Files files;
  const auto arrays = scan_raid_arrays(files);
  ASSERT_TRUE(arrays) << arrays.error().what;
  if (arrays->empty()) GTEST_SKIP() << "no software RAID here";
  for (const RaidArray& array : *arrays)
    EXPECT_FALSE(array.state.empty()) << array.name;
}

}  // namespace
}  // namespace autopilot::host
