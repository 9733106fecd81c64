// SPDX-License-Identifier: Apache-2.0
#include "checks/measured_limits.hpp"

#include <gtest/gtest.h>

#include "checks/check.hpp"

namespace autopilot::checks {
namespace {

TEST(MeasuredLimits, are_of_checks_and_thresholds_that_exist) {
  for (const MeasuredLimit& one : measured_limits()) {
    const Check* check = find_check(one.check);
    ASSERT_NE(check, nullptr) << one.check;
    const catalog::Threshold* threshold = catalog::builtin().threshold(one.threshold);
    ASSERT_NE(threshold, nullptr) << one.threshold;
    EXPECT_EQ(threshold->unit == "ratio", one.whole != nullptr) << one.threshold;
  }
}

TEST(MeasuredLimits, of_a_share_need_the_nominal_rate_of_the_model) {
  const auto& facts = catalog::builtin();
  const auto memory =
      rate_limit(facts, "gpu.memory_bandwidth", "memory_bandwidth.copy", "NVIDIA H100 80GB HBM3");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->threshold, "gpu.memory_bandwidth.peak_share");
  EXPECT_GT(memory->whole, 3000);
  EXPECT_FALSE(rate_limit(facts, "gpu.memory_bandwidth", "memory_bandwidth.copy", "a card of next year"));
  EXPECT_FALSE(rate_limit(facts, "gpu.memory_bandwidth", "memory_bandwidth.wrong", "NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(rate_limit(facts, "gpu.pcie_bandwidth", "pcie_bandwidth.host_to_device", "")->whole, 1);
}

}  // namespace
}  // namespace autopilot::checks
