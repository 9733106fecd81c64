// SPDX-License-Identifier: Apache-2.0
#include "host/storage/nvme.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

std::string page() {
  std::string bytes(512, '\0');
  bytes[0] = 0x05;
  bytes[1] = 0x3d;  // 317 K
  bytes[2] = 0x01;
  bytes[3] = 97;
  bytes[4] = 10;
  bytes[5] = 104;
  bytes[128] = 0x10;
  bytes[129] = 0x27;  // 10000
  bytes[144] = 3;
  bytes[160] = 7;
  bytes[168] = 1;  // 2^64 more
  bytes[176] = 9;
  return bytes;
}

TEST(NvmeHealth, is_read_from_the_log_page) {
  const NvmeHealth health = parse_nvme_health(page()).value();
  EXPECT_EQ(health.critical_warning, 5);
  EXPECT_EQ(health.temperature_celsius, 44);
  EXPECT_EQ(health.available_spare_percent, 97);
  EXPECT_EQ(health.spare_threshold_percent, 10);
  EXPECT_EQ(health.percentage_used, 104);
  EXPECT_EQ(health.power_on_hours, 10000);
  EXPECT_EQ(health.unsafe_shutdowns, 3);
  EXPECT_DOUBLE_EQ(health.media_errors, 18446744073709551616.0 + 7);
  EXPECT_EQ(health.error_log_entries, 9);
}

TEST(NvmeHealth, of_a_short_or_empty_page_is_malformed) {
  EXPECT_EQ(parse_nvme_health("").error().code, Errc::malformed);
  EXPECT_EQ(parse_nvme_health(page().substr(0, 511)).error().code, Errc::malformed);
  EXPECT_EQ(parse_nvme_health(std::string(512, '\0')).error().code, Errc::malformed);
  EXPECT_TRUE(parse_nvme_health(std::string(4096, '\xff')).has_value());
}

TEST(NvmeControllers, are_read_from_sysfs) {
  const TestFolder folder;
  folder.write("/sys/class/nvme/nvme0/state", "live\n");
  folder.write("/sys/class/nvme/nvme0/model", "Fast Disk 3840G      \n");
  folder.write("/sys/class/nvme/nvme0/serial", "S1  \n");
  folder.write("/sys/class/nvme/nvme0/firmware_rev", "1.0\n");
  folder.write("/sys/class/nvme/nvme10/state", "dead\n");
  folder.write("/sys/class/nvme/nvme-subsys0/state", "live\n");
  const auto controllers = read_nvme_controllers(Files(folder.path())).value();
  ASSERT_EQ(controllers.size(), 2U);
  EXPECT_EQ(controllers[0].name, "nvme0");
  EXPECT_EQ(controllers[0].state, "live");
  EXPECT_EQ(controllers[0].model, "Fast Disk 3840G");
  EXPECT_EQ(controllers[0].serial, "S1");
  EXPECT_EQ(controllers[0].firmware, "1.0");
  EXPECT_EQ(controllers[1].name, "nvme10");
  EXPECT_EQ(controllers[1].state, "dead");
  EXPECT_EQ(controllers[1].model, "");
}

TEST(NvmeControllers, are_none_without_the_driver_and_unknown_without_sysfs) {
  const TestFolder folder;
  EXPECT_EQ(read_nvme_controllers(Files(folder.path())).error().code, Errc::unavailable);
  folder.write("/sys/class/net/lo/mtu", "65536\n");
  EXPECT_TRUE(read_nvme_controllers(Files(folder.path())).value().empty());
}

}  // namespace
}  // namespace autopilot::host
