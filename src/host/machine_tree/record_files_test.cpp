// SPDX-License-Identifier: Apache-2.0
#include "host/machine_tree/record_files.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/support/host/test_folder.hpp"

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

TEST(RecordFiles, a_driver_leads_to_its_devices) {
  const TestFolder folder;
  const std::string device = "/sys/devices/pci0000:00/0000:00:01.0";
  folder.write(device + "/vendor", "0x15b3\n");
  folder.link("/sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci0000:00/0000:00:01.0");
  folder.link(device + "/driver", "../../../bus/pci/drivers/mlx5_core");
  folder.link("/sys/bus/pci/drivers/mlx5_core/0000:00:01.0", "../../../../devices/pci0000:00/0000:00:01.0");
  const auto recorded = record_files(Files(folder.path()));
  ASSERT_TRUE(recorded) << recorded.error().what;
  const auto link = recorded->find("/sys/bus/pci/drivers/mlx5_core/0000:00:01.0");
  ASSERT_NE(link, recorded->end());
  EXPECT_TRUE(link->second.is_link);
  EXPECT_EQ(link->second.text, device);
}

// Left out it would be missing, and a look that fails would find nothing wrong.
TEST(RecordFiles, what_cannot_be_read_is_recorded_as_such) {
  const TestFolder folder;
  folder.write("/proc/meminfo", "MemTotal: 1 kB\n");
  folder.write("/proc/loadavg", "0 0 0 1/2 3\n");
  folder.write("/sys/fs/pstore/dmesg-efi-1", "");
  const auto recorded = record_files(Files(folder.path(), [](std::string_view path) -> Status {
    if (path == "/proc/meminfo") return fail(Errc::denied, "no right");
    if (path == "/sys/fs/pstore") return fail(Errc::unavailable, "no answer");
    return {};
  }));
  ASSERT_TRUE(recorded) << recorded.error().what;
  EXPECT_EQ(recorded->at("/proc/meminfo").error, Errc::denied);
  EXPECT_FALSE(recorded->at("/proc/meminfo").is_folder);
  EXPECT_EQ(recorded->at("/sys/fs/pstore").error, Errc::unavailable);
  EXPECT_TRUE(recorded->at("/sys/fs/pstore").is_folder);
  EXPECT_FALSE(recorded->at("/proc/loadavg").error);
  EXPECT_FALSE(recorded->contains("/proc/vmstat")) << "it is not there";
}

class RecordAmd : public testing::Test {
 protected:
  static constexpr const char* kDevice = "/sys/devices/pci0000:00/0000:05:00.0";

  RecordAmd() { add("0000:05:00.0", "0x1002"); }
  void add(const std::string& address, const std::string& vendor) {
    const std::string device = "/sys/devices/pci0000:00/" + address;
    folder_.write(device + "/vendor", vendor + "\n");
    folder_.write(device + "/device", "0x74a1\n");
    folder_.write(device + "/class", "0x120000\n");
    for (const char* file : {"current_link_speed", "current_link_width", "max_link_speed", "max_link_width"})
      folder_.write(device + "/" + file, "16\n");
    folder_.link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + address);
  }
  RecordedFiles record(const Files::Gate& gate = {}) {
    auto recorded = record_files(Files(folder_.path(), gate));
    EXPECT_TRUE(recorded) << recorded.error().what;
    return recorded.value_or(RecordedFiles{});
  }

  TestFolder folder_;
};

TEST_F(RecordAmd, a_virtual_function_is_still_one_in_the_recording) {
  add("0000:05:02.0", "0x1002");
  folder_.link("/sys/devices/pci0000:00/0000:05:02.0/physfn", "../0000:05:00.0");
  const RecordedFiles recorded = record();
  const auto link = recorded.find("/sys/devices/pci0000:00/0000:05:02.0/physfn");
  ASSERT_NE(link, recorded.end());
  EXPECT_TRUE(link->second.is_link);
  EXPECT_EQ(link->second.text, kDevice);
  EXPECT_FALSE(recorded.contains(std::string(kDevice) + "/physfn"));
}

TEST_F(RecordAmd, of_its_configuration_only_vendor_and_device_are_taken) {
  const std::string path = std::string(kDevice) + "/config";
  folder_.write(path, "\x02\x10\xa1\x74 and a serial number");
  EXPECT_EQ(record().at(path).text, "\x02\x10\xa1\x74");
  folder_.write(path, std::string(4096, '\xff'));
  EXPECT_EQ(record().at(path).text, "\xff\xff\xff\xff") << "it left the bus";
}

TEST_F(RecordAmd, a_compute_driver_without_processes_is_one_in_the_recording) {
  const std::string processes = "/sys/class/kfd/kfd/proc";
  const auto kept = [&](const RecordedFiles& recorded) {
    std::vector<std::string> paths;
    for (const auto& [path, file] : recorded)
      if (path.starts_with(processes)) paths.push_back(path);
    return paths;
  };
  EXPECT_THAT(kept(record()), testing::IsEmpty());
  std::filesystem::create_directories(folder_.path() + processes);
  EXPECT_THAT(kept(record()), testing::ElementsAre(processes + "/.keep"));
  folder_.write(processes + "/4242/vram_11743", "4096\n");
  EXPECT_THAT(kept(record()), testing::ElementsAre(processes + "/.keep", processes + "/4242/vram_11743"));
}

TEST_F(RecordAmd, what_sleeps_is_not_woken) {
  add("0000:06:00.0", "0x10de");
  const std::string other = "/sys/devices/pci0000:00/0000:06:00.0";
  for (const std::string& device : {std::string(kDevice), other}) {
    folder_.write(device + "/config", "\x02\x10\xa1\x74");
    folder_.write(device + "/gpu_busy_percent", "0\n");
    folder_.write(device + "/power/runtime_status", "suspended\n");
  }
  std::vector<std::string> read;
  const RecordedFiles recorded = record([&read](std::string_view path) -> Status {
    read.emplace_back(path);
    return {};
  });
  for (const char* file :
       {"config", "gpu_busy_percent", "current_link_speed", "current_link_width", "max_link_width"})
    EXPECT_THAT(read, testing::Not(testing::Contains(testing::EndsWith(std::string("/") + file))));
  EXPECT_EQ(recorded.at(other + "/power/runtime_status").text, "suspended\n");
  EXPECT_TRUE(recorded.contains(other + "/max_link_speed"));

  folder_.write(other + "/power/runtime_status", "active\n");
  EXPECT_TRUE(record().contains(other + "/current_link_speed"));
}

}  // namespace
}  // namespace autopilot::host
