// SPDX-License-Identifier: Apache-2.0
#include "collect/telemetry/device_readings.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::collect::device_readings_test {
namespace {

using host::NicCounters;
using jobs::Metric;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

DeviceReadings reading(std::vector<NicCounters> counters, MonoTime time) {
  DeviceReadings readings;
  for (std::size_t i = 0; i < counters.size(); ++i)
    readings.ports.push_back(
        {.name = "mlx5_" + std::to_string(i), .rdma = {}, .interface = {}, .pci_address = {}});
  readings.counters = std::move(counters);
  readings.time = time;
  return readings;
}

NicCounters counters(std::uint64_t tx_bytes, std::uint64_t errors, bool is_up = true) {
  NicCounters port;
  port.tx_bytes = tx_bytes;
  port.errors = errors;
  port.is_up = is_up;
  return port;
}

const jobs::Column* column_of(const jobs::WindowRecord& window, Metric metric) {
  for (const jobs::Column& column : window.columns)
    if (column.metric == metric) return &column;
  return nullptr;
}

TEST(DeviceReadings, rates_and_counts_are_growth) {
  jobs::WindowRecord window;
  append_devices(reading({counters(1000, 5), counters(0, 0)}, MonoTime(10s)),
                 reading({counters(21'000, 7), counters(0, 0, false)}, MonoTime(20s)), window);
  EXPECT_THAT(window.nics, ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_THAT(column_of(window, Metric::nic_tx_bytes_s)->values, ElementsAre(2000, 0));
  EXPECT_THAT(column_of(window, Metric::nic_errors)->values, ElementsAre(2, 0));
  EXPECT_THAT(column_of(window, Metric::nic_up)->values, ElementsAre(1, 0.5));
  EXPECT_EQ(column_of(window, Metric::nic_cnp), nullptr) << "a counter that no port has is a column";
}

TEST(DeviceReadings, a_counter_that_falls_has_no_value) {
  jobs::WindowRecord window;
  append_devices(reading({counters(1000, 5)}, MonoTime(10s)), reading({counters(900, 6)}, MonoTime(20s)),
                 window);
  EXPECT_EQ(column_of(window, Metric::nic_tx_bytes_s), nullptr);
  EXPECT_THAT(column_of(window, Metric::nic_errors)->values, ElementsAre(1));
}

TEST(DeviceReadings, a_port_that_is_new_has_no_growth) {
  jobs::WindowRecord window;
  append_devices(reading({counters(1000, 5)}, MonoTime(10s)),
                 reading({counters(2000, 5), counters(7, 7)}, MonoTime(20s)), window);
  EXPECT_TRUE(std::isnan(column_of(window, Metric::nic_tx_bytes_s)->values.at(1)));
}

TEST(GpusOfNics, are_those_below_the_same_switch) {
  const std::vector<std::vector<std::string>> nics{{"pci0000:15", "15:01.0", "16:00.0", "18:00.0"},
                                                   {"pci0000:3d", "3d:01.0", "3e:00.0", "40:00.0"}};
  const auto users = gpus_of_nics(nics, {{0, {"pci0000:15", "15:01.0", "16:00.0", "1b:00.0"}},
                                         {1, {"pci0000:3d", "3d:01.0", "3e:00.0", "43:00.0"}},
                                         {2, {"pci0000:3d", "3d:02.0", "5e:00.0"}},
                                         {3, {}}});
  EXPECT_THAT(users, ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(gpus_of_nics({}, {{0, {"pci0000:15"}}}), IsEmpty());
}

TEST(GpusOfNics, share_nics_that_are_equally_near) {
  const std::vector<std::string> one{"pci0000:15", "15:01.0", "16:00.0", "18:00.0"};
  const std::vector<std::string> other{"pci0000:15", "15:01.0", "16:00.0", "18:00.1"};
  EXPECT_THAT(gpus_of_nics({one, other}, {{4, {"pci0000:15", "15:01.0", "16:00.0", "1b:00.0"}}}),
              ElementsAre(ElementsAre(4), ElementsAre(4)));
}

}  // namespace
}  // namespace autopilot::collect::device_readings_test
