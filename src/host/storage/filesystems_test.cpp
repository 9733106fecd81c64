// SPDX-License-Identifier: Apache-2.0
#include "host/storage/filesystems.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "host/files/fd.hpp"
#include "tests/support/host/loop_filesystem.hpp"
#include "tests/support/host/test_folder.hpp"

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

// In the form that the kernel writes (fs/nfs/super.c, net/sunrpc/stats.c), two mounts among others.
constexpr std::string_view kText =
    "device proc mounted on /proc with fstype proc\n"
    "no device mounted on / with fstype rootfs\n"
    "device filer:/export/home mounted on /home with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576,proto=tcp,nconnect=2,timeo=600,retrans=2,addr=192.0.2.5\n"
    "\tage:\t86400\n"
    "\tcaps:\tcaps=0x3ffbffff,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n"
    "\tsec:\tflavor=1,pseudoflavor=1\n"
    "\tevents:\t1 2 3 4\n"
    "\tbytes:\t1 2 3 4\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 1 0 12 1500 1498 0 1500 0 2 0 0\n"
    "\txprt:\ttcp 0 0 1 0 12 500 500 0 500 0 2 0 0\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
    "\t        READ: 100 101 1 4400 99999 5 70 80 0\n"
    "\t       WRITE: 50 52 2 4400 99999 5 70 80 0\n"
    "\n"
    "device [2001:db8::5]:/scratch mounted on /scratch with fstype nfs statvers=1.1\n"
    "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
    "\txprt:\tudp 701 1 20 19 0 20 0 2 0 0\n"
    "\tper-op statistics\n"
    "\t     GETATTR: 19 20 0 44 24 0 0 0\n";

TEST(Mountstats, are_read_for_nfs_alone) {
  const auto mounts = parse_mountstats(kText);
  ASSERT_TRUE(mounts) << mounts.error().what;
  ASSERT_EQ(mounts->size(), 2U);
  const NfsMount& home = (*mounts)[0];
  EXPECT_EQ(home.mount_point, "/home");
  EXPECT_EQ(home.server, "filer");
  EXPECT_EQ(home.version, "100003/4");
  EXPECT_EQ(home.sends, 2000U);
  EXPECT_EQ(home.receives, 1998U);
  EXPECT_EQ(home.timeouts, 3U);
  const NfsMount& scratch = (*mounts)[1];
  EXPECT_EQ(scratch.server, "2001:db8::5");
  EXPECT_EQ(scratch.sends, 20U);
  EXPECT_EQ(scratch.receives, 19U);
}

TEST(Mountstats, may_hold_none_and_may_be_cut) {
  for (const std::string_view text : {std::string_view(), std::string_view("\x7f\0ELF\n", 6)})
    EXPECT_EQ(parse_mountstats(text).error().code, Errc::malformed);
  EXPECT_TRUE(parse_mountstats("device proc mounted on /proc with fstype proc\n")->empty());
  // A row that ends early is refused wherever the cut is; a text that ends between rows is not.
  const std::string_view rows = kText.substr(kText.find("device filer"));
  for (std::size_t length = 0; length < rows.size(); ++length)
    static_cast<void>(parse_mountstats(rows.substr(0, length)));
  EXPECT_EQ(parse_mountstats(kText.substr(0, kText.find(" 1500 1498"))).error().code, Errc::malformed);
  const std::string head = "device a:/b mounted on /c with fstype nfs4 statvers=1.1\n";
  for (const char* row : {"xprt:", "xprt: tcp", "xprt: tcp 0 0 1 0 12 x 1", "xprt: tcp 0 0 1 0 12 -1 1",
                          "per-op statistics\nREAD: 1 2", "per-op statistics\nREAD: 1 2 z 4 5 6 7 8"})
    EXPECT_EQ(parse_mountstats(head + row).error().code, Errc::malformed) << row;
}

TEST(NfsMountsOfThisMachine, can_be_asked_without_asking_a_server) {
  const Files files;
  const auto mounts = read_nfs_mounts(files);
  ASSERT_TRUE(mounts) << mounts.error().what;
  if (mounts->empty()) GTEST_SKIP() << "nothing is mounted by NFS here";
  for (const NfsMount& mount : *mounts)
    EXPECT_FALSE(mount.server.empty()) << mount.mount_point;
}

using namespace std::chrono_literals;

TEST(Ext4ErrorCounts, are_read_with_time_and_place) {
  const TestFolder folder;
  const Files files(folder.path());
  folder.write("/sys/fs/ext4/features/lazy_itable_init", "supported\n");
  folder.write("/sys/fs/ext4/sda1/errors_count", "3\n");
  folder.write("/sys/fs/ext4/sda1/first_error_time", "1700000000\n");
  folder.write("/sys/fs/ext4/sda1/last_error_time", "1700000100\n");
  folder.write("/sys/fs/ext4/sda1/last_error_func", "ext4_find_entry\n");
  folder.write("/sys/class/block/sda1/dev", "8:1\n");
  folder.write("/sys/fs/ext4/sda2/errors_count", "0\n");
  folder.write("/sys/fs/ext4/sda2/first_error_time", "0\n");
  const auto filesystems = scan_ext4_errors(files);
  ASSERT_TRUE(filesystems) << filesystems.error().what;
  ASSERT_EQ(filesystems->size(), 2U);
  const Ext4Errors& first = (*filesystems)[0];
  EXPECT_EQ(first.device, "sda1");
  EXPECT_EQ(first.device_number, "8:1");
  EXPECT_EQ(first.count, 3U);
  EXPECT_EQ(first.last, WallTime{1700000100s});
  EXPECT_EQ(first.last_function, "ext4_find_entry");
  EXPECT_EQ((*filesystems)[1].count, 0U);
  EXPECT_EQ((*filesystems)[1].first, std::nullopt);
}

TEST(Ext4ErrorCounts, none_is_told_from_no_sysfs_and_from_garbage) {
  const TestFolder folder;
  const Files files(folder.path());
  EXPECT_EQ(scan_ext4_errors(files).error().code, Errc::unavailable);
  folder.write("/sys/kernel/x", "");
  EXPECT_TRUE(scan_ext4_errors(files)->empty());
  folder.write("/sys/fs/ext4/sda1/errors_count", "-1\n");
  folder.write("/sys/fs/ext4/sda2/errors_count", "0\n");
  const auto filesystems = scan_ext4_errors(files);
  ASSERT_EQ(filesystems->size(), 2U);
  ASSERT_TRUE((*filesystems)[0].problem);
  EXPECT_EQ((*filesystems)[0].problem->code, Errc::malformed);
  EXPECT_FALSE((*filesystems)[1].problem);
}

TEST(Ext4ErrorCountsOfThisKernel, grow_with_an_error) {
  const LoopFilesystem filesystem({.mount = "errors=continue"});
  if (!filesystem.why_not().empty()) GTEST_SKIP() << "no loop filesystem here: " << filesystem.why_not();
  const Files files;
  const auto of_ours = [&] {
    const auto all = scan_ext4_errors(files).value();
    const auto found = std::ranges::find(all, filesystem.device(), &Ext4Errors::device);
    return found == all.end() ? Ext4Errors{} : *found;
  };
  EXPECT_EQ(of_ours().device, filesystem.device());
  EXPECT_NE(of_ours().device_number, "");
  EXPECT_EQ(of_ours().count, 0U);
  const std::string problem =
      run_program({"sh", "-c", "echo test > /sys/fs/ext4/" + filesystem.device() + "/trigger_fs_error"});
  if (!problem.empty()) GTEST_SKIP() << "this kernel makes no errors on demand: " << problem;
  // The kernel writes the count down a moment later.
  for (const MonoTime end = mono_now() + 20s; of_ours().count == 0 && mono_now() < end;)
    std::this_thread::yield();
  EXPECT_EQ(of_ours().count, 1U);
  EXPECT_TRUE(of_ours().last.has_value());
}

}  // namespace
}  // namespace autopilot::host
