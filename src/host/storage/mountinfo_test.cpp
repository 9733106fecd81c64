// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/storage/filesystems.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

Mount only(std::string_view line) {
  const auto mounts = parse_mountinfo(line);
  EXPECT_TRUE(mounts.has_value() && mounts->size() == 1) << line;
  return mounts && mounts->size() == 1 ? mounts->front() : Mount{};
}

TEST(Mountinfo, reads_a_row) {
  const Mount mount = only(
      "36 35 259:1 /sub /mnt/data rw,noatime master:1 shared:2 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n");
  EXPECT_EQ(mount.device, "259:1");
  EXPECT_EQ(mount.root, "/sub");
  EXPECT_EQ(mount.mount_point, "/mnt/data");
  EXPECT_EQ(mount.type, "ext4");
  EXPECT_EQ(mount.source, "/dev/nvme0n1p1");
  EXPECT_FALSE(mount.read_only);
  EXPECT_FALSE(mount.super_read_only);
  EXPECT_FALSE(mount.stopped_by_error);
  EXPECT_FALSE(mount.is_network);
}

TEST(Mountinfo, tells_who_made_it_read_only) {
  EXPECT_TRUE(only("1 0 8:1 / / ro - ext4 /dev/sda1 rw").read_only);
  EXPECT_TRUE(only("1 0 8:1 / / rw - ext4 /dev/sda1 ro,errors=remount-ro").super_read_only);
  EXPECT_TRUE(only("1 0 8:1 / / rw - ext4 /dev/sda1 rw,emergency_ro").stopped_by_error);
  EXPECT_TRUE(only("1 0 8:1 / / rw - ext4 /dev/sda1 rw,shutdown").stopped_by_error);
  EXPECT_FALSE(only("1 0 8:1 / / rw - ext4 /dev/sda1 rw,errors=remount-ro").super_read_only);
}

TEST(Mountinfo, undoes_the_kernels_escapes) {
  const Mount mount = only(R"(1 0 0:1 / /a\040b\134c\011d\12 rw - tmpfs a\040b rw)");
  EXPECT_EQ(mount.mount_point, "/a b\\c\td\\12");
  EXPECT_EQ(mount.source, "a b");
}

TEST(Mountinfo, accepts_an_empty_source) {
  EXPECT_EQ(only("1 0 0:1 / /t rw - tmpfs  rw,size=4k").source, "");
}

TEST(Mountinfo, knows_what_may_hang) {
  for (const std::string_view type : {"nfs", "nfs4", "lustre", "9p", "ceph", "fuse.sshfs", "fuse.juicefs"}) {
    const Mount mount = only("1 0 0:1 / /t rw - " + std::string(type) + " src rw");
    EXPECT_TRUE(mount.is_network) << type;
    EXPECT_TRUE(may_hang(mount)) << type;
  }
  EXPECT_FALSE(only("1 0 0:1 / /t rw - fuse.bindfs src rw").is_network);
  EXPECT_TRUE(may_hang(only("1 0 0:1 / /t rw - fuse.bindfs src rw")));
  EXPECT_TRUE(may_hang(only("1 0 0:1 / /t rw - fuseblk src rw")));
  EXPECT_FALSE(may_hang(only("1 0 0:1 / /t rw - xfs src rw")));
}

TEST(Mountinfo, names_the_line_that_is_no_mount) {
  const std::string good = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n";
  for (const std::string bad :
       {"x", "1 0 8:1 / / rw", "1 0 8:1 / / rw - ext4", "1 0 8 / / rw - ext4 a rw",
        "1 0 8:1 / relative rw - ext4 a rw", "1 0 8:1 / - ext4 a rw", " - ", "1 0 8:1 / / rw -  a rw"}) {
    const auto mounts = parse_mountinfo(good + bad + "\n");
    ASSERT_FALSE(mounts.has_value()) << bad;
    EXPECT_EQ(mounts.error().code, Errc::malformed);
    EXPECT_THAT(mounts.error().what, HasSubstr("line 2"));
  }
  EXPECT_TRUE(parse_mountinfo("").value().empty());
  EXPECT_FALSE(parse_mountinfo(std::string(1 << 20, '\0')).has_value());
}

}  // namespace
}  // namespace autopilot::host
