// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"
#include "host/storage/tree_filesystems.hpp"
#include "host/storage/tree_nvme.hpp"

namespace autopilot::host {
namespace {

class TreeStorage : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("/machine.yaml",
                  "schema: autopilot.machine/v1\n"
                  "node: node-1\n"
                  "boot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
                  "time: 2026-01-15T08:00:00Z\n"
                  "uptime: 36h\n"
                  "simulated: true\n"
                  "filesystems:\n"
                  "  /: {total_bytes: 100, available_bytes: 7}\n"
                  "  /data: {hangs: true}\n"
                  "  /secret: {error: denied}\n"
                  "nvme:\n"
                  "  nvme0: {percentage_used: 12}\n"
                  "  nvme1: {error: denied}\n");
    folder_.write("/root/proc/self/mountinfo",
                  "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /data rw - nfs4 s:/e rw\n");
    folder_.write("/root/sys/class/nvme/nvme0/state", "live\n");
    tree_ = MachineTreeFile::open(folder_.path()).value();
  }

  TestFolder folder_;
  Files files_{folder_.path() + "/root"};
  std::unique_ptr<MachineTreeFile> tree_;
};

TEST_F(TreeStorage, filesystems_say_what_the_tree_says) {
  const TreeFilesystems filesystems(files_, *tree_);
  const auto mounts = filesystems.mounts().value();
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(filesystems.usage(mounts[0], {})->available_bytes, 7U);
  EXPECT_EQ(filesystems.usage(mounts[1], {}).error().code, Errc::timed_out);
  Mount other;
  other.mount_point = "/secret";
  EXPECT_EQ(filesystems.usage(other, {}).error().code, Errc::denied);
  other.mount_point = "/other";
  EXPECT_EQ(filesystems.usage(other, {}).error().code, Errc::not_found);
}

TEST_F(TreeStorage, nvme_devices_say_what_the_tree_says) {
  const TreeNvmeDevices devices(files_, *tree_);
  ASSERT_EQ(devices.controllers()->size(), 1U);
  EXPECT_EQ(devices.health("nvme0", {})->percentage_used, 12);
  EXPECT_EQ(devices.health("nvme1", {}).error().code, Errc::denied);
  EXPECT_EQ(devices.health("nvme2", {}).error().code, Errc::not_found);
}

}  // namespace
}  // namespace autopilot::host
