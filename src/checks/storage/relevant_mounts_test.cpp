// SPDX-License-Identifier: Apache-2.0
#include "checks/storage/relevant_mounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> points(std::string_view mountinfo) {
  std::vector<std::string> names;
  for (const auto& mount : relevant_mounts(host::parse_mountinfo(mountinfo).value()).mounts)
    names.push_back(mount.mount_point);
  return names;
}

TEST(RelevantMounts, hold_data) {
  EXPECT_THAT(points("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                     "2 1 8:2 / /boot rw - ext4 /dev/sda2 rw\n"
                     "3 1 0:40 / /data rw - nfs4 filer:/data rw\n"
                     "4 1 0:41 / /scratch rw - lustre 10.0.0.1@o2ib:/scratch rw\n"
                     "5 1 0:42 / /pool rw - zfs tank/pool rw\n"
                     "6 1 259:3 / /raid rw - xfs /dev/nvme1n1 rw\n"),
              ElementsAre("/", "/boot", "/data", "/pool", "/raid", "/scratch"));
}

TEST(RelevantMounts, are_not_the_kernels_own_nor_images_nor_layers) {
  EXPECT_THAT(points("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                     "2 1 0:5 / /dev rw - devtmpfs udev rw\n"
                     "3 1 0:6 / /dev/shm rw - tmpfs tmpfs rw\n"
                     "4 1 7:3 / /snap/core/1 ro - squashfs /dev/loop3 ro\n"
                     "5 1 11:0 / /media/cd ro - iso9660 /dev/sr0 ro\n"
                     "6 1 0:50 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw\n"
                     "7 1 0:51 / /mnt/auto rw - autofs systemd-1 rw\n"
                     "8 1 0:52 / /run/user/1000/doc rw - fuse.portal portal rw\n"
                     "9 1 8:1 /var/lib/kubelet/pods/1/etc-hosts /var/lib/x/hosts rw - ext4 /dev/sda1 rw\n"),
              ElementsAre("/"));
}

TEST(RelevantMounts, count_each_filesystem_once) {
  EXPECT_THAT(points("1 0 0:30 /@ / rw - btrfs /dev/sda1 rw\n"
                     "2 1 0:30 /@home /home rw - btrfs /dev/sda1 rw\n"
                     "3 1 8:16 / /var/lib/kubelet/plugins/csi/globalmount rw - ext4 /dev/sdb rw\n"
                     "4 1 8:16 / /data rw - ext4 /dev/sdb rw\n"
                     "5 1 0:40 / /var/lib/kubelet/pods/1/volumes/nfs rw - nfs4 filer:/data rw\n"
                     "6 1 0:40 / /var/lib/kubelet/pods/2/volumes/nfs rw - nfs4 filer:/data rw\n"),
              ElementsAre("/", "/data", "/var/lib/kubelet/pods/1/volumes/nfs"));
}

TEST(RelevantMounts, include_the_root_of_a_container_or_a_diskless_node) {
  EXPECT_THAT(
      points("1 0 0:60 / / rw - overlay overlay rw\n2 1 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"),
      ElementsAre("/"));
  EXPECT_THAT(points("1 0 0:2 / / rw - rootfs rootfs rw\n2 1 0:20 / / rw - tmpfs tmpfs rw\n"),
              ElementsAre("/"));
}

TEST(RelevantMounts, of_one_place_are_the_last) {
  const auto relevant = relevant_mounts(
      host::parse_mountinfo("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /mnt rw - ext4 /dev/sdb rw\n"
                            "3 1 0:70 / /mnt rw - tmpfs tmpfs rw\n")
          .value());
  EXPECT_EQ(relevant.mounts.size(), 1U);
}

TEST(RelevantMounts, have_a_limit_that_is_counted) {
  std::string many;
  for (std::size_t i = 0; i < RelevantMounts::kMax + 5; ++i)
    many += "1 0 8:" + std::to_string(i) + " / /m" + std::to_string(i) + " rw - ext4 /dev/sda rw\n";
  const auto relevant = relevant_mounts(host::parse_mountinfo(many).value());
  EXPECT_EQ(relevant.mounts.size(), RelevantMounts::kMax);
  EXPECT_EQ(relevant.left_out, 5U);
}

}  // namespace
}  // namespace autopilot::checks
