// SPDX-License-Identifier: Apache-2.0
#include "host/telemetry/host_counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host::host_counters_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ProcessorTime, waiting_and_a_hypervisor_are_not_work) {
  const auto time = parse_processor_time(
      "cpu  100 20 30 1000 400 5 7 50 11 0\ncpu0 50 10 15 500 200 2 3 25 5 0\ncpu1 50 10 15 500 200 3 4 25 6 "
      "0\n"
      "intr 5 6 7\n");
  ASSERT_TRUE(time) << time.error().what;
  EXPECT_EQ(time->busy_ticks, 162U);
  EXPECT_EQ(time->total_ticks, 1612U);
  EXPECT_EQ(time->processors, 2U);
  for (const char* text :
       {"", "cpu 1 2\ncpu0 1 2\n", "cpu  1 2 3 4 5 6 7 x 9\ncpu0 1\n", "cpu0 1 2 3 4 5 6 7 8\n"})
    EXPECT_FALSE(parse_processor_time(text)) << text;
}

TEST(DiskTraffic, counts_each_byte_once) {
  constexpr std::string_view kText =
      " 259 0 nvme0n1 10 0 2000 5 6 0 4000 9 0 1 1 0 0 0 0 0 0\n 259 1 nvme0n1p1 10 0 2000 5 6 0 4000 9 0 1 "
      "1\n"
      " 253 0 dm-0 10 0 2000 5 6 0 4000 9 0 1 1\n";
  const auto traffic = parse_disk_traffic(kText, {"nvme0n1"});
  ASSERT_TRUE(traffic) << traffic.error().what;
  EXPECT_EQ(traffic->read_bytes, 2000U * 512);
  EXPECT_EQ(traffic->written_bytes, 4000U * 512);
  EXPECT_FALSE(parse_disk_traffic(" 259 0 nvme0n1 10 0", {"nvme0n1"}));
  EXPECT_FALSE(parse_disk_traffic(" 259 0 nvme0n1 10 0 x 5 6 0 4000 9", {"nvme0n1"}));
}

TEST(HostCounters, come_from_the_files_of_a_machine) {
  TestFolder folder;
  folder.write("/proc/stat", "cpu  1 0 1 8 0 0 0 0 0 0\ncpu0 1 0 1 8 0 0 0 0 0 0\n");
  folder.write("/proc/pressure/io",
               "some avg10=1.00 avg60=0.50 avg300=0.10 total=123456\nfull avg10=0.00 "
               "avg60=0.00 avg300=0.00 total=3\n");
  folder.write("/proc/diskstats", " 8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n 7 0 loop0 1 0 10 0 1 0 20 0 0 0 0\n");
  folder.write("/sys/block/sda/size", "100\n");
  folder.write("/sys/block/loop0/size", "100\n");
  folder.write(
      "/proc/self/mountstats",
      "device rootfs mounted on / with fstype rootfs\n"
      "device nas:/a mounted on /a with fstype nfs4 statvers=1.1\n\tbytes:\t9 9 0 0 1000 2000 1 1\n"
      "device nas:/a mounted on /b with fstype nfs4 statvers=1.1\n\tbytes:\t9 9 0 0 1000 2000 1 1\n");
  const Files files(folder.path());
  const auto disks = counted_disks(files);
  EXPECT_THAT(disks, ElementsAre("sda"));
  const HostCounters counters = read_host_counters(files, disks);
  ASSERT_TRUE(counters.processors);
  EXPECT_EQ(counters.psi_io_us, 123456U);
  EXPECT_FALSE(counters.psi_cpu_us) << "a missing file became a number";
  EXPECT_EQ(counters.storage_read_bytes, 10U * 512 + 1000);
  EXPECT_EQ(counters.storage_written_bytes, 20U * 512 + 2000);
}

TEST(HostCounters, of_an_empty_machine_are_missing) {
  TestFolder folder;
  const Files files(folder.path());
  EXPECT_THAT(counted_disks(files), IsEmpty());
  const HostCounters counters = read_host_counters(files, {});
  EXPECT_FALSE(counters.processors || counters.psi_io_us || counters.storage_read_bytes);
  EXPECT_FALSE(read_runnable_threads(files));
  EXPECT_EQ(find_inlet_sensor(files), "");
}

TEST(HostCounters, of_this_machine_are_plausible) {
  const Files files;
  const HostCounters counters = read_host_counters(files, counted_disks(files));
  ASSERT_TRUE(counters.processors);
  EXPECT_GT(counters.processors->processors, 0U);
  EXPECT_LE(counters.processors->busy_ticks, counters.processors->total_ticks);
  EXPECT_TRUE(read_runnable_threads(files));
}

TEST(InletSensor, is_found_by_its_label) {
  TestFolder folder;
  folder.write("/sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n");
  folder.write("/sys/class/hwmon/hwmon1/temp2_label", "Inlet Temp\n");
  folder.write("/sys/class/hwmon/hwmon1/temp2_input", "23500\n");
  const Files files(folder.path());
  const std::string sensor = find_inlet_sensor(files);
  EXPECT_EQ(read_inlet(files, sensor).value_or(0), 23.5);
  folder.write("/sys/class/hwmon/hwmon1/temp2_input", "-273000\n");
  EXPECT_FALSE(read_inlet(files, sensor)) << "a broken sensor became cold air";
}

}  // namespace
}  // namespace autopilot::host::host_counters_test
