// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/gpu_table.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::collect::gpu_table_test {
namespace {

using host::GpuMeasure;
using host::GpuTelemetry;
using jobs::Metric;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::NanSensitiveFloatEq;
using namespace std::chrono_literals;

constexpr std::int64_t kBegin = 1'700'000'000;

GpuTelemetry sample(std::initializer_list<std::pair<GpuMeasure, double>> values, int index = 0) {
  GpuTelemetry telemetry;
  host::GpuSample& gpu = telemetry.gpus.emplace_back();
  gpu.index = index;
  for (const auto& [measure, value] : values)
    gpu[measure] = value;
  return telemetry;
}

float value_of(const jobs::WindowRecord& window, Metric metric, std::size_t row = 0) {
  for (const jobs::Column& column : window.columns)
    if (column.metric == metric) return column.values.at(row);
  return jobs::kMissing;
}

jobs::WindowRecord closed(GpuTable& table, const std::vector<std::vector<int>>& groups = {}) {
  jobs::WindowRecord window;
  table.close(groups, kBegin, 10, window);
  return window;
}

TEST(GpuTable, gauges_are_means_and_reasons_are_shares) {
  GpuTable table;
  for (int second = 0; second < 10; ++second)
    table.add(kBegin + second, sample({{GpuMeasure::power_w, second < 5 ? 600 : 200},
                                       {GpuMeasure::sm_clock_mhz, 1755},
                                       {GpuMeasure::utilization, 0.5},
                                       {GpuMeasure::clocks_reasons, second < 3 ? 0x4 : 0}}));
  const auto window = closed(table);
  EXPECT_THAT(window.gpus, ElementsAre(0));
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_power_w), 400);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_sm_clock_mhz), 1755);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_util), 0.5);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_throttle_power_cap), 0.3F);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_throttle_thermal), 0);
  EXPECT_TRUE(std::isnan(value_of(window, Metric::gpu_temp_c)))
      << "a value that was not read became a number";
}

TEST(GpuTable, a_hardware_slowdown_for_heat_or_brake_is_not_a_third_kind) {
  GpuTable table;
  const std::array<unsigned, 4> reasons{0x8, 0x48, 0x88, 0x20};
  for (std::size_t i = 0; i < reasons.size(); ++i)
    table.add(kBegin + static_cast<int>(i), sample({{GpuMeasure::clocks_reasons, reasons[i]}}));
  const auto window = closed(table);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_throttle_hw), 0.25);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_throttle_thermal), 0.5);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_throttle_brake), 0.25);
}

TEST(GpuTable, fast_power_is_the_mean_of_the_gpus_of_a_job) {
  GpuTable table;
  for (const int second : {0, 1, 3})
    for (const int gpu : {0, 1})
      table.add(kBegin + second, sample({{GpuMeasure::power_w, 100.0 * (gpu + 1) + second}}, gpu));
  const auto window = closed(table, {{0, 1}, {5}});
  ASSERT_EQ(window.fast.size(), 1U) << "GPUs without a value have fast power";
  EXPECT_THAT(window.fast[0].gpus, ElementsAre(0, 1));
  const float none = jobs::kMissing;
  EXPECT_THAT(window.fast[0].power_w,
              ElementsAre(NanSensitiveFloatEq(150), NanSensitiveFloatEq(151), NanSensitiveFloatEq(none),
                          NanSensitiveFloatEq(153), NanSensitiveFloatEq(none), NanSensitiveFloatEq(none),
                          NanSensitiveFloatEq(none), NanSensitiveFloatEq(none), NanSensitiveFloatEq(none),
                          NanSensitiveFloatEq(none)));
}

TEST(GpuTable, the_link_of_an_idle_gpu_is_not_a_slow_link) {
  GpuTable table;
  table.add(kBegin, sample({{GpuMeasure::utilization, 0}, {GpuMeasure::pcie_generation, 1}}));
  EXPECT_TRUE(std::isnan(value_of(closed(table), Metric::gpu_pcie_gen)));
  table.add(kBegin, sample({{GpuMeasure::utilization, 0.1}, {GpuMeasure::pcie_generation, 5}}));
  EXPECT_FLOAT_EQ(value_of(closed(table), Metric::gpu_pcie_gen), 5);
}

TEST(GpuTable, a_driver_without_an_answer_leaves_no_rows) {
  GpuTable table;
  GpuTelemetry telemetry = sample({{GpuMeasure::power_w, 100}});
  telemetry.state = host::DriverState::unresponsive;
  table.add(kBegin, telemetry);
  const auto window = closed(table);
  EXPECT_THAT(window.gpus, IsEmpty());
  EXPECT_THAT(window.columns, IsEmpty());
}

TEST(GpuCounters, growth_is_known_between_two_readings_without_a_reset) {
  GpuCounters counters;
  jobs::WindowRecord window;
  window.gpus = {0};
  const auto reading = [](double errors, double bytes) {
    return sample({{GpuMeasure::ecc_corrected, errors}, {GpuMeasure::nvlink_bytes, bytes}});
  };
  counters.advance(reading(5, 1e9), MonoTime(10s), window);
  EXPECT_TRUE(std::isnan(value_of(window, Metric::gpu_ecc_corrected))) << "there was no reading before";
  window.columns.clear();
  counters.advance(reading(7, 21e9), MonoTime(20s), window);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_ecc_corrected), 2);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_nvlink_bytes_s), 2e9);
  window.columns.clear();
  counters.advance(reading(1, 22e9), MonoTime(30s), window);
  EXPECT_TRUE(std::isnan(value_of(window, Metric::gpu_ecc_corrected))) << "a reset became a number";
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_nvlink_bytes_s), 1e8);
  window.columns.clear();
  counters.advance(reading(4, 32e9), MonoTime(40s), window);
  EXPECT_FLOAT_EQ(value_of(window, Metric::gpu_ecc_corrected), 3);
}

}  // namespace
}  // namespace autopilot::collect::gpu_table_test
