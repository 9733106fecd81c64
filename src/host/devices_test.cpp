// SPDX-License-Identifier: Apache-2.0
#include "host/devices.hpp"

#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

TEST(Devices, are_told_by_their_class) {
  const TestFolder folder;
  folder.write("/sys/class/nvme/nvme0/model", "x\n");
  folder.write("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  const Files files(folder.path());
  EXPECT_TRUE(has_devices(files, "nvme"));
  EXPECT_TRUE(has_devices(files, "infiniband"));
  EXPECT_FALSE(has_devices(files, "nvidia_gpu"));
}

TEST(Devices, a_class_without_a_device_and_a_machine_without_the_class_have_none) {
  const TestFolder folder;
  folder.write("/sys/class/nvme/.keep", "");
  std::filesystem::remove(folder.path() + "/sys/class/nvme/.keep");
  const Files files(folder.path());
  EXPECT_FALSE(has_devices(files, "nvme"));
  EXPECT_FALSE(has_devices(files, "infiniband"));
  EXPECT_FALSE(has_devices(files, "printer"));
}

}  // namespace
}  // namespace autopilot::host
