// SPDX-License-Identifier: Apache-2.0
#include "checks/diagnostic_results.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {

namespace {

TEST_F(MeasuredTest, a_wrong_result_is_told_with_its_place) {
  says("pcie_bandwidth.wrong", 0, std::int64_t{0});
  says("pcie_bandwidth.wrong", 1, std::int64_t{3},
       {{"where", "byte 4096 of a copy"}, {"detail", "bits 0x4"}});
  Findings findings;
  add_wrong(input(), "pcie_bandwidth.wrong", "pcie_data_wrong", "got wrong words over its link", findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message,
            "GPU 1 (0000:11:00.0) got wrong words over its link: 3 (byte 4096 of a copy: bits 0x4)");
  EXPECT_EQ(findings[0].health, Health::degraded);
  EXPECT_EQ(findings[0].action, Action::run_diagnostics);
  EXPECT_EQ(evidence(findings[0], "where"), "byte 4096 of a copy");
  EXPECT_EQ(evidence(findings[0], "value"), "3");
  EXPECT_EQ(evidence(findings[0], "testedAt"), "2026-11-25T10:00:00Z");
}

TEST_F(MeasuredTest, a_test_that_tells_no_place_is_heard_too) {
  says("pcie_bandwidth.wrong", 1, std::int64_t{1});
  Findings findings;
  add_wrong(input(), "pcie_bandwidth.wrong", "pcie_data_wrong", "got wrong words over its link", findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].message, "GPU 1 (0000:11:00.0) got wrong words over its link: 1");
}

TEST_F(MeasuredTest, two_alone_are_not_compared) {
  says("pcie_bandwidth.host_to_device", 0, 55.0);
  says("pcie_bandwidth.host_to_device", 1, 5.0);
  const auto all = measured(input(), "pcie_bandwidth.host_to_device");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(median_of_others(all[1], all, [](const Measured&) { return true; }), std::nullopt);
}

TEST_F(MeasuredTest, the_median_is_of_those_that_are_alike) {
  for (int gpu = 0; gpu < 4; ++gpu)
    says("pcie_bandwidth.host_to_device", gpu, 50.0 + gpu);
  says("pcie_bandwidth.host_to_device", 4, std::string("fast"));
  const auto all = measured(input(), "pcie_bandwidth.host_to_device");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(median_of_others(all[0], all, [](const Measured& one) { return one.value > 51; }), 53.0);
}

constexpr Rate kMemory{"memory_bandwidth.copy",
                       "copy",
                       "GB/s",
                       [](const catalog::GpuPeaks& peaks) { return peaks.memory_gigabytes_per_second; },
                       "gpu.memory_bandwidth.peak_share",
                       "gpu.memory_bandwidth.sibling_share",
                       "gpu.memory_bandwidth.own_share"};
constexpr Rate kAdd{
    "memory_bandwidth.triad", "triad",          kMemory.unit, kMemory.peak, kMemory.peak_share,
    kMemory.sibling_share,    kMemory.own_share};
constexpr std::array kRates{kMemory, kAdd};

class RatesTest : public MeasuredTest {
 protected:
  void says_rates(int gpu, const std::string& model, double copy, double triad) {
    says("gpu.model", gpu, model);
    says("memory_bandwidth.copy", gpu, copy);
    says("memory_bandwidth.triad", gpu, triad);
  }
  Findings findings() {
    Findings findings;
    judge_rates(input(), kRates,
                {"memory_bandwidth_low", "memory_bandwidth_sibling_differs", "memory_bandwidth_declined"},
                findings);
    return findings;
  }
};

TEST_F(RatesTest, all_rates_below_the_promise_are_told_at_once) {
  says_rates(0, "NVIDIA H100 80GB HBM3", 1000, 900);
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "memory_bandwidth_low");
  EXPECT_EQ(found[0].message,
            "GPU 0 (0000:10:00.0) is slow: copy 1000 GB/s, at least 2010 expected for NVIDIA H100 80GB HBM3; "
            "triad 900 GB/s, at least 2010 expected for NVIDIA H100 80GB HBM3");
  EXPECT_EQ(evidence(found[0], "failed"), "copy,triad");
  EXPECT_EQ(evidence(found[0], "value"), "1000");
  EXPECT_EQ(evidence(found[0], "threshold"), "2010");
  EXPECT_EQ(evidence(found[0], "unit"), "gigabytes_per_second");
  EXPECT_EQ(evidence(found[0], "thresholdId"), "gpu.memory_bandwidth.peak_share");
}

TEST_F(RatesTest, a_model_that_nobody_knows_is_compared_with_its_siblings) {
  for (int gpu = 0; gpu < 3; ++gpu)
    says_rates(gpu, "NVIDIA GH200 480GB", 3600, gpu == 1 ? 1200 : 3600);
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "memory_bandwidth_sibling_differs");
  EXPECT_EQ(found[0].message,
            "GPU 1 (0000:11:00.0) is slow: triad 1200 GB/s, at least 3240 expected from its siblings");
}

TEST_F(RatesTest, a_model_that_nobody_knows_is_compared_with_its_own_past) {
  says("gpu.model", 0, std::string("NVIDIA GH200 480GB"));
  says("memory_bandwidth.copy", 0, 3100.0, {{"usualBefore", 3600.0}});
  says("memory_bandwidth.triad", 0, 3300.0, {{"usualBefore", 3600.0}});
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "memory_bandwidth_declined");
  EXPECT_EQ(
      found[0].message,
      "GPU 0 (0000:10:00.0) is slow: copy 3100 GB/s, at least 3240 expected from its earlier diagnostics");
  EXPECT_EQ(evidence(found[0], "thresholdId"), "gpu.memory_bandwidth.own_share");
}

TEST_F(RatesTest, what_the_vendor_promises_goes_before_the_past) {
  says("gpu.model", 0, std::string("NVIDIA H100 80GB HBM3"));
  says("memory_bandwidth.copy", 0, 2600.0, {{"usualBefore", 3000.0}});
  EXPECT_TRUE(findings().empty());
}

TEST_F(RatesTest, an_operator_can_ask_for_more) {
  expectation_.thresholds["gpu.memory_bandwidth.peak_share"] = 0.9;
  says_rates(0, "NVIDIA H100 80GB HBM3", 2950, 3050);
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(evidence(found[0], "failed"), "copy");
  EXPECT_EQ(evidence(found[0], "thresholdSource"), "configuration");
}

}  // namespace

}  // namespace autopilot::checks
