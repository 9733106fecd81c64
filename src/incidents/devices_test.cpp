// SPDX-License-Identifier: Apache-2.0

#include "incidents/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {

namespace {

using std::chrono::seconds;
using testing::at;

Subject subject(SubjectKind kind, const std::string& key) {
  Subject subject;
  subject.kind = kind;
  subject.key = key;
  return subject;
}

Finding of_disk(const std::string& disk, const std::string& reason) {
  return testing::finding(subject(SubjectKind::disk, disk), reason, Health::degraded);
}

Finding of_mount(const std::string& place, const std::string& source, const std::string& reason) {
  Finding finding = testing::finding(subject(SubjectKind::mount, place), reason);
  finding.evidence = {{"source", source}};
  return finding;
}

Finding of_array(const std::string& array, const std::string& faulty, const std::string& reason) {
  Finding finding = of_disk(array, reason);
  finding.evidence = {{"faulty", faulty}};
  return finding;
}

TEST(SameDisk, parts_are_known_by_their_names) {
  const auto same = [](const std::string& a, const std::string& b) {
    return is_on_same_disk(of_disk(a, ""), of_disk(b, "")) && is_on_same_disk(of_disk(b, ""), of_disk(a, ""));
  };
  EXPECT_TRUE(same("sda", "sda"));
  EXPECT_TRUE(same("sda", "sda1"));
  EXPECT_TRUE(same("nvme0", "nvme0n1"));
  EXPECT_TRUE(same("nvme0", "nvme0n1p2"));
  EXPECT_TRUE(same("nvme0n1", "nvme0n1p2"));
  EXPECT_TRUE(same("mmcblk0", "mmcblk0p1"));
  EXPECT_FALSE(same("sda", "sdab"));
  EXPECT_FALSE(same("sda", "sdb1"));
  EXPECT_FALSE(same("nvme1", "nvme10"));
  EXPECT_FALSE(same("nvme1", "nvme10n1"));
  EXPECT_FALSE(same("nvme0n1", "nvme0n10"));
  EXPECT_FALSE(same("md1", "md12"));
}

TEST(SameDisk, a_mount_lies_on_its_source_and_an_array_on_its_faulty_members) {
  const Finding disk = of_disk("sda", "");
  EXPECT_TRUE(is_on_same_disk(disk, of_mount("/data", "/dev/sda2", "")));
  EXPECT_FALSE(is_on_same_disk(disk, of_mount("/data", "/dev/mapper/sda2", "")));
  EXPECT_FALSE(is_on_same_disk(disk, of_mount("/data", "sda2", ""))) << "of a network";
  EXPECT_TRUE(is_on_same_disk(disk, of_array("md0", "sdb1, sda1", "")));
  EXPECT_FALSE(is_on_same_disk(disk, of_array("md0", "", "")));
  Finding gpu = testing::finding(testing::kGpu, "");
  gpu.evidence = {{"source", "/dev/sda"}};
  EXPECT_FALSE(is_on_same_disk(disk, gpu));
}

class DiskCauses : public testing::Causes {
 protected:
  void look(std::string_view check, const Findings& findings) {
    for (int i = 0; i < 3; ++i, now_ += seconds{1})
      state_.complete_round(check, at(now_), findings, {}, {});
  }
};

TEST_F(DiskCauses, a_dead_disk_is_one_incident_with_all_that_lies_on_it) {
  look("storage.raid", {of_array("md0", "nvme1n1p1", "raid_degraded")});
  look("storage.fs_errors", {of_mount("/scratch", "/dev/nvme1n1p3", "filesystem_shut_down")});
  look("storage.filesystem", {of_mount("/scratch", "/dev/nvme1n1p3", "filesystem_read_only")});
  ASSERT_EQ(state_.incidents().size(), 2U) << "nothing joins them yet";
  look("storage.block", {of_disk("nvme1n1", "io_errors")});
  look("storage.nvme", {testing::finding(subject(SubjectKind::disk, "nvme1"), "nvme_not_live")});
  const Incident& incident = only();
  EXPECT_EQ(incident.cause, "disk_fault");
  EXPECT_EQ(to_string(incident.blamed), "disk/nvme1n1");
  EXPECT_EQ(incident.health, Health::failed);
  EXPECT_EQ(incident.members.size(), 5U);
  look("storage.filesystem", {of_mount("/home", "/dev/nvme0n1p1", "filesystem_read_only")});
  EXPECT_EQ(state_.incidents().size(), 2U) << "another disk";
}

TEST_F(DiskCauses, one_disk_under_four_arrays_is_one_incident) {
  Findings arrays;
  for (const std::string number : {"0", "1", "2", "3"})
    arrays.push_back(of_array("md" + number, "sda" + number, "raid_degraded"));
  look("storage.raid", arrays);
  EXPECT_EQ(only().cause, "array_member_lost");
  EXPECT_EQ(to_string(only().blamed), to_string(host_subject()));
  look("storage.block", {of_disk("sda", "io_errors")});
  EXPECT_EQ(only().cause, "disk_fault");
  EXPECT_EQ(to_string(only().blamed), "disk/sda");
  EXPECT_EQ(only().members.size(), 5U);
}

TEST_F(DiskCauses, an_array_that_fails_requests_is_no_disk) {
  look("storage.raid", {of_array("md0", "sda1", "raid_failed")});
  look("storage.block", {of_disk("md0", "volume_io_errors")});
  EXPECT_EQ(only().cause, "array_member_lost");
  EXPECT_EQ(to_string(only().blamed), "disk/md0");
  look("storage.block", {of_disk("md0", "volume_io_errors"), of_disk("sda", "io_errors")});
  EXPECT_EQ(only().cause, "disk_fault");
  EXPECT_EQ(to_string(only().blamed), "disk/sda");
}

TEST_F(DiskCauses, arrays_that_lost_different_disks_are_two_incidents) {
  look("storage.raid",
       {of_array("md0", "sda1", "raid_degraded"), of_array("md1", "sdb1", "raid_degraded"),
        of_array("md2", "sda2, sdc2", "raid_degraded"), of_array("md3", "", "raid_degraded")});
  EXPECT_EQ(state_.incidents().size(), 3U) << "md0 with md2, md1, md3";
}

TEST_F(DiskCauses, arrays_on_partitions_of_one_disk_of_nvme_are_one) {
  look("storage.raid",
       {of_array("md0", "nvme0n1p1", "raid_degraded"), of_array("md1", "nvme0n1p2", "raid_degraded")});
  EXPECT_EQ(only().members.size(), 2U);
}

TEST_F(DiskCauses, a_filesystem_is_read_only_because_it_is_damaged) {
  look("storage.filesystem", {of_mount("/scratch", "/dev/mapper/data", "filesystem_read_only")});
  look("storage.fs_errors", {of_mount("/scratch", "/dev/dm-0", "filesystem_errors")});
  EXPECT_EQ(only().cause, "filesystem_damage");
  EXPECT_EQ(only().end, FaultEnd::unclear);
}

}  // namespace

}  // namespace autopilot::incidents
