// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/gpus.hpp"

#include <gtest/gtest.h>
#include <set>

#include "host/gpu/nvml_abi.h"
#include "host/gpu/readings.hpp"

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

}  // namespace
}  // namespace autopilot::host
