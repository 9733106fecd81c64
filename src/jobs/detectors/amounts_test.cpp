// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/amounts.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace autopilot::jobs {
namespace {

TEST(Amounts, a_value_has_its_unit) {
  EXPECT_EQ(amount_of(Metric::gpu_sm_clock_mhz, 1410.2), "1410 MHz");
  EXPECT_EQ(amount_of(Metric::gpu_throttle_thermal, 0.352), "35 %");
  EXPECT_EQ(amount_of(Metric::host_psi_cpu, 0.012), "1.2 %");
  EXPECT_EQ(amount_of(Metric::nic_tx_bytes_s, 2.14e10), "21.4 GB/s");
  EXPECT_EQ(amount_of(Metric::nic_retransmits, 12), "12 a minute");
  EXPECT_EQ(amount_of(Metric::gpu_pcie_width, 16), "x16");
}

TEST(Amounts, a_value_that_is_not_finite_is_unknown) {
  EXPECT_EQ(amount_of(Metric::gpu_power_w, std::numeric_limits<double>::quiet_NaN()), "unknown");
  EXPECT_EQ(amount_of(Metric::gpu_power_w, std::numeric_limits<double>::infinity()), "unknown");
}

TEST(Amounts, every_metric_has_a_title_and_prints_its_largest_value) {
  for (const MetricInfo& known : kMetrics) {
    EXPECT_FALSE(title_of(known.metric).empty()) << known.name;
    EXPECT_NE(amount_of(known.metric, known.max), "unknown") << known.name;
    EXPECT_LT(amount_of(known.metric, known.max).size(), 30U) << known.name;
  }
}

TEST(Amounts, a_comparison_states_the_value_the_peers_and_the_threshold) {
  EXPECT_EQ(compare_amounts(Metric::gpu_sm_clock_mhz, 1410, 1755, 1667, 31),
            "SM clock is 1410 MHz, the median of 31 peers is 1755 MHz (threshold 1667 MHz)");
  EXPECT_EQ(compare_amounts(Metric::gpu_pcie_width, 8, 16, std::numeric_limits<double>::quiet_NaN(), 0),
            "PCIe width is x8, the median of the peers is x16");
}

}  // namespace
}  // namespace autopilot::jobs
