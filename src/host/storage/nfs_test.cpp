// SPDX-License-Identifier: Apache-2.0
#include "host/storage/nfs.hpp"

#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

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

}  // namespace
}  // namespace autopilot::host
