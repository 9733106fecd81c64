// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>

#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

class ComputeTest : public MeasuredTest {
 protected:
  void multiplies(int gpu, double dgemm) {
    says("gpu.model", gpu, std::string("NVIDIA H100 80GB HBM3"));
    says("compute.dgemm", gpu, dgemm);
  }
  Findings findings() {
    says("compute.outcome", host_subject(), std::string("measured"));
    return find_check("gpu.compute")->judge(input());
  }
};

TEST_F(ComputeTest, a_gpu_whose_clocks_were_held_back_is_slow_and_says_why) {
  multiplies(0, 5.1);
  says("compute.throttled", 0, std::string("sw_power_cap,hw_thermal"));
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "compute_slow");
  EXPECT_EQ(
      found[0].message,
      "GPU 0 (0000:10:00.0) is slow: dgemm 5.1 TFLOP/s, at least 20.1 expected for NVIDIA H100 80GB HBM3; "
      "its clocks were limited meanwhile: sw_power_cap,hw_thermal");
  EXPECT_EQ(evidence(found[0], "throttled"), "sw_power_cap,hw_thermal");
  EXPECT_EQ(evidence(found[0], "failed"), "dgemm");
}

TEST_F(ComputeTest, to_be_idle_between_two_products_holds_nothing_back) {
  multiplies(0, 5.1);
  says("compute.throttled", 0, std::string("gpu_idle"));
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(evidence(found[0], "throttled"), "");
}

TEST_F(ComputeTest, what_held_it_back_in_an_earlier_test_explains_nothing) {
  multiplies(0, 5.1);
  says("compute.throttled", gpu(0), std::string("hw_thermal"), {}, "2026-11-25T09:00:00Z");
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(evidence(found[0], "throttled"), "");
}

TEST_F(ComputeTest, to_be_held_back_is_no_fault_of_one_that_is_fast) {
  multiplies(0, 51.0);
  says("compute.throttled", 0, std::string("sw_power_cap"));
  EXPECT_TRUE(findings().empty());
}

TEST_F(ComputeTest, a_kernel_that_is_right_on_another_gpu_of_the_model_accuses_this_one) {
  multiplies(0, 51.0);
  multiplies(1, 51.0);
  says("compute.bf16", 0, 482.0);
  says("compute.bf16_mma_sync", 1, 241.0);
  says("compute.disputed", 1, 3.0, {{"where", "row 17"}, {"detail", "12 instead of 14"}});
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, gpu(1));
  EXPECT_EQ(found[0].reason, "compute_wrong");
  EXPECT_EQ(found[0].health, Health::degraded);
  EXPECT_EQ(found[0].message,
            "GPU 1 (0000:11:00.0) computed wrong results: 3 (row 17: 12 instead of 14); "
            "GPU 0 (0000:10:00.0) computed correct results with the same kernel");
}

TEST_F(ComputeTest, one_that_nobody_of_the_model_has_proven_leaves_it_open) {
  multiplies(0, 51.0);
  says("gpu.model", 1, std::string("NVIDIA H200"));
  says("compute.bf16", 1, 482.0);
  says("compute.disputed", 0, 3.0);
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, gpu(0));
  EXPECT_EQ(found[0].health, Health::unknown);
  EXPECT_EQ(found[0].reason, "could_not_look");
}

TEST_F(ComputeTest, a_gpu_that_is_wrong_anyway_is_told_once) {
  multiplies(0, 51.0);
  says("compute.wrong", 0, 2.0);
  says("compute.disputed", 0, 3.0);
  const Findings found = findings();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, "compute_wrong");
}

TEST_F(ComputeTest, double_precision_is_that_of_tensor_cores_where_there_are_some) {
  multiplies(0, 15.0);  // enough for the 33.5 of the vector units
  EXPECT_EQ(findings().size(), 1U);
}

}  // namespace
}  // namespace autopilot::checks
