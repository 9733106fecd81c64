// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/record_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

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

TEST(RecordFiles, TakesOfAProcessItsStateAndNeverItsArguments) {
  const TestFolder folder;
  for (const char* pid : {"7", "8"}) {
    const std::string process = std::string("/proc/") + pid;
    folder.write(process + "/comm", "train\n");
    folder.write(process + "/cmdline", "train --token=secret");
    folder.write(process + "/environ", "TOKEN=secret");
    folder.write(process + "/wchan", "nfs_wait");
    folder.write(process + "/status", "voluntary_ctxt_switches:\t1\n");
  }
  folder.write("/proc/7/stat", "7 (train) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 99\n");
  folder.write("/proc/8/stat", "8 (train) D 1 8 8 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 99\n");
  folder.write("/proc/driver/stat", "no process\n");

  const auto recorded = record_files(Files(folder.path()));
  ASSERT_TRUE(recorded) << recorded.error().what;
  std::vector<std::string> paths;
  for (const auto& [path, file] : *recorded)
    paths.push_back(path);
  EXPECT_THAT(paths, testing::ElementsAre("/proc/7/comm", "/proc/7/stat", "/proc/8/comm", "/proc/8/stat",
                                          "/proc/8/status", "/proc/8/wchan"));
}

}  // namespace
}  // namespace autopilot::host
