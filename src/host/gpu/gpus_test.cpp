// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpus.hpp"

#include <gtest/gtest.h>
#include <set>

#include "host/gpu/nvml_abi.h"
#include "host/gpu/readings.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

TEST(Gpus, words_of_states_and_groups_are_read_back) {
  for (int i = 0; i <= static_cast<int>(DriverState::exhausted); ++i) {
    const auto state = static_cast<DriverState>(i);
    EXPECT_EQ(parse_driver_state(to_string(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(GpuState::unreadable); ++i) {
    const auto state = static_cast<GpuState>(i);
    EXPECT_EQ(parse_gpu_state(to_string(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(GpuGroup::inforom); ++i) {
    const auto group = static_cast<GpuGroup>(i);
    EXPECT_EQ(parse_gpu_group(to_string(group)), group);
  }
  EXPECT_FALSE(parse_driver_state(""));
  EXPECT_FALSE(parse_gpu_group("everything"));
}

TEST(Gpus, a_reading_is_found_by_name_and_link) {
  GpuDevice gpu;
  gpu.readings = {{"nvlink.active", 0, Value{true}, 0}, {"nvlink.active", 1, Value{false}, 0}};
  ASSERT_NE(gpu.find("nvlink.active", 1), nullptr);
  EXPECT_EQ(gpu.find("nvlink.active", 1)->value, Value{false});
  EXPECT_EQ(gpu.find("nvlink.active"), nullptr);
  EXPECT_EQ(gpu.find("nvlink.active", 2), nullptr);
}

TEST(GpuReadings, each_name_stands_once_and_has_a_meaning) {
  std::set<std::string_view> names;
  for (const ReadingInfo& info : gpu_readings()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.meaning.empty()) << info.name;
    EXPECT_EQ(find_reading(info.name), &info);
  }
  EXPECT_EQ(find_reading("nonsense"), nullptr);
}

using namespace std::chrono_literals;

class HandClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return {WallTime{}, now_}; }
  void advance(Duration by) { now_ += by; }

 private:
  MonoTime now_{};
};

class GpuScanTest : public testing::Test {
 protected:
  void plug(const std::string& address, const std::string& vendor,
            const std::string& class_code = "0x030200\n") const {
    const std::string device = "/sys/bus/pci/devices/" + address + "/";
    folder_.write(device + "class", class_code);
    folder_.write(device + "vendor", vendor);
    folder_.write(device + "device", "0x2330\n");
  }
  static std::size_t count(const GpuScan& scan, GpuVendor vendor) {
    const auto gpus = scan.gpus(vendor);
    return gpus ? gpus->size() : 99;
  }

  TestFolder folder_;
  Files files_{folder_.path()};
  HandClock clock_;
};

TEST_F(GpuScanTest, what_was_seen_serves_all_who_ask_within_a_second) {
  plug("0000:3b:00.0", "0x10de\n");
  const GpuScan scan(files_, clock_);
  GpuScan copy(files_);
  copy = scan;
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
  plug("0000:5e:00.0", "0x10de\n");
  EXPECT_EQ(count(copy, GpuVendor::nvidia), 1U);
  clock_.advance(GpuScan::kShared);
  EXPECT_EQ(count(copy, GpuVendor::nvidia), 2U);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 2U);
}

TEST_F(GpuScanTest, each_vendor_has_its_own) {
  plug("0000:3b:00.0", "0x10de\n");
  plug("0000:5e:00.0", "0x1002\n", "0x120000\n");
  plug("0000:5f:00.0", "0x1002\n", "0x120000\n");
  const GpuScan scan(files_, clock_);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
  EXPECT_EQ(count(scan, GpuVendor::amd), 2U);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
}

TEST_F(GpuScanTest, what_a_device_is_is_read_again_after_a_minute) {
  plug("0000:3b:00.0", "0x10de\n");
  const GpuScan scan(files_, clock_);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
  plug("0000:3b:00.0", "0x10de\n", "0x068000\n");
  clock_.advance(GpuScan::kKnown - GpuScan::kShared);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
  clock_.advance(GpuScan::kShared);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 0U);
}

TEST_F(GpuScanTest, one_that_goes_is_gone_at_the_next_look) {
  plug("0000:3b:00.0", "0x10de\n");
  plug("0000:5e:00.0", "0x10de\n");
  const GpuScan scan(files_, clock_);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 2U);
  std::filesystem::remove_all(folder_ / "sys/bus/pci/devices/0000:5e:00.0");
  clock_.advance(GpuScan::kShared);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
}

TEST_F(GpuScanTest, a_look_that_failed_serves_nobody_else) {
  plug("0000:3b:00.0", "garbage\n");
  const GpuScan scan(files_, clock_);
  EXPECT_EQ(scan.gpus(GpuVendor::nvidia).error().code, Errc::malformed);
  plug("0000:3b:00.0", "0x10de\n");
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
}

TEST_F(GpuScanTest, without_a_clock_each_question_looks) {
  plug("0000:3b:00.0", "0x10de\n");
  const GpuScan scan(files_);
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 1U);
  plug("0000:5e:00.0", "0x10de\n");
  EXPECT_EQ(count(scan, GpuVendor::nvidia), 2U);
}

}  // namespace
}  // namespace autopilot::host
