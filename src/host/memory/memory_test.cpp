// SPDX-License-Identifier: Apache-2.0
#include "host/memory/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

using ::testing::HasSubstr;

TEST(Edac, counts_by_controller_and_module) {
  const TestFolder folder;
  const std::string mc = "/sys/devices/system/edac/mc/";
  folder.write(mc + "mc0/ce_count", "12\n");
  folder.write(mc + "mc0/ue_count", "1\n");
  folder.write(mc + "mc0/dimm0/dimm_ce_count", "10\n");
  folder.write(mc + "mc0/dimm0/dimm_ue_count", "1\n");
  folder.write(mc + "mc0/dimm0/dimm_label", "CPU0_DIMM_A1\n");
  folder.write(mc + "mc0/dimm1/dimm_ce_count", "0\n");
  folder.write(mc + "mc0/dimm1/dimm_ue_count", "0\n");
  folder.write(mc + "mc0/csrow0/ce_count", "12\n");
  folder.write(mc + "mc1/ce_count", "0\n");
  folder.write(mc + "mc1/ue_count", "0\n");
  folder.write(mc + "power/control", "auto\n");
  const auto controllers = read_memory_controllers(Files(folder.path())).value();
  ASSERT_EQ(controllers.size(), 2U);
  EXPECT_EQ(controllers[0].corrected, 12U);
  EXPECT_EQ(controllers[0].uncorrected, 1U);
  ASSERT_EQ(controllers[0].modules.size(), 2U);
  EXPECT_EQ(controllers[0].modules[0].label, "CPU0_DIMM_A1");
  EXPECT_EQ(controllers[0].modules[0].corrected, 10U);
  EXPECT_EQ(controllers[0].modules[1].label, "");
  EXPECT_TRUE(controllers[1].modules.empty());
}

TEST(Edac, of_a_machine_without_a_driver_is_empty) {
  const TestFolder folder;
  EXPECT_TRUE(read_memory_controllers(Files(folder.path())).value().empty());
}

TEST(Edac, garbage_names_its_file) {
  const TestFolder folder;
  folder.write("/sys/devices/system/edac/mc/mc0/ue_count", "0\n");
  for (const std::string_view text : {"", "many", "-1", "1\n2"}) {
    folder.write("/sys/devices/system/edac/mc/mc0/ce_count", text);
    const auto controllers = read_memory_controllers(Files(folder.path())).value();
    ASSERT_EQ(controllers.size(), 1U);
    ASSERT_FALSE(controllers[0].corrected.has_value()) << text;
    EXPECT_THAT(controllers[0].corrected.error().what, HasSubstr("mc0/ce_count"));
    EXPECT_EQ(controllers[0].uncorrected, 0U);
  }
}

TEST(Meminfo, is_read_with_and_without_the_corrupted_row) {
  const std::string_view text = "MemTotal:       100 kB\nMemFree: 1 kB\nMemAvailable:    40 kB\n";
  EXPECT_EQ(parse_meminfo(text)->total_kilobytes, 100U);
  EXPECT_EQ(parse_meminfo(text)->available_kilobytes, 40U);
  EXPECT_FALSE(parse_meminfo(text)->corrupted_kilobytes.has_value());
  EXPECT_EQ(parse_meminfo(std::string(text) + "HardwareCorrupted:     4 kB\n")->corrupted_kilobytes, 4U);
}

TEST(Meminfo, garbage_is_malformed) {
  for (const std::string_view text :
       {"", "MemTotal: 1 kB", "MemTotal: x kB\nMemAvailable: 1 kB", "MemTotal: 1 MB\nMemAvailable: 1 kB",
        "MemTotal:\nMemAvailable: 1 kB", "MemTotal: 1 kB\nMemAvailable: 1 kB\nHardwareCorrupted: -1 kB"})
    EXPECT_EQ(parse_meminfo(text).error().code, Errc::malformed) << text;
}

TEST(OomKills, are_read_where_the_kernel_counts_them) {
  EXPECT_EQ(parse_oom_kills("a 1\noom_kill 7\nb 2\n").value(), 7U);
  EXPECT_FALSE(parse_oom_kills("a 1\n").value().has_value());
  EXPECT_EQ(parse_oom_kills("oom_kill x").error().code, Errc::malformed);
  EXPECT_EQ(parse_oom_kills("oom_kill").error().code, Errc::malformed);
}

TEST(Pressure, is_a_share) {
  const Pressure pressure = parse_pressure(
                                "some avg10=50.00 avg60=12.50 avg300=0.00 total=1\n"
                                "full avg10=1.00 avg60=100.00 avg300=0.10 total=1\n")
                                .value();
  EXPECT_DOUBLE_EQ(pressure.some.avg60, 0.125);
  EXPECT_DOUBLE_EQ(pressure.full.avg60, 1.0);
  EXPECT_DOUBLE_EQ(parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=0")->full.avg60, 0);
  for (const std::string_view text :
       {"", "full avg10=1.00 avg60=1.00 avg300=1.00", "some avg10=1.00", "some a b c",
        "some avg10=nan avg60=0 avg300=0", "some avg10=101 avg60=0 avg300=0"})
    EXPECT_EQ(parse_pressure(text).error().code, Errc::malformed) << text;
}

TEST(MemoryOfThisMachine, can_be_read) {
  const Files files;
  EXPECT_GT(parse_meminfo(files.read("/proc/meminfo").value())->total_kilobytes, 0U);
  EXPECT_TRUE(parse_oom_kills(files.read("/proc/vmstat").value()).has_value());
  EXPECT_TRUE(read_memory_controllers(files).has_value());
  const auto pressure = files.read("/proc/pressure/memory");
  if (!pressure) GTEST_SKIP() << "this kernel does not count pressure: " << pressure.error().what;
  EXPECT_TRUE(parse_pressure(*pressure).has_value());
}

}  // namespace
}  // namespace autopilot::host
