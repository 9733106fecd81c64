// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/record_files.hpp"

#include <gtest/gtest.h>

#include "host/files/test_folder.hpp"

namespace autopilot::host {
namespace {

TEST(RecordFiles, TakesWhatTheDoorsReadAndNothingElse) {
  const TestFolder folder;
  const std::string device = "/sys/devices/pci0000:00/0000:00:01.0";
  folder.write("/proc/meminfo", "MemTotal: 1 kB\n");
  folder.write("/proc/pressure/io", "some\n");
  folder.write("/proc/kcore", "everything\n");
  folder.write(device + "/vendor", "0x10de\n");
  folder.write(device + "/remove", "dangerous\n");
  folder.write(device + "/net/eth0/statistics/rx_bytes", "1\n");
  folder.write("/sys/bus/pci/drivers/nvidia/bind", "");
  folder.link("/sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0");
  folder.link(device + "/driver", "../../../bus/pci/drivers/nvidia");
  folder.link("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:01.0/net/eth0");

  const auto recorded = record_files(Files(folder.path()));
  ASSERT_TRUE(recorded) << recorded.error().what;
  EXPECT_EQ(recorded->at("/proc/pressure/io").text, "some\n");
  EXPECT_EQ(recorded->at(device + "/vendor").text, "0x10de\n");
  EXPECT_TRUE(recorded->at(device + "/driver").is_link);
  EXPECT_EQ(recorded->at("/sys/class/net/eth0").text, device + "/net/eth0");
  EXPECT_TRUE(recorded->contains(device + "/net/eth0/statistics/rx_bytes"));
  EXPECT_FALSE(recorded->contains(device + "/remove"));
  EXPECT_FALSE(recorded->contains("/proc/kcore"));
}

}  // namespace
}  // namespace autopilot::host
