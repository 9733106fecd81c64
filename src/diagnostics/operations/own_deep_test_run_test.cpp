// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/own_deep_test_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OwnDeepTest, takes_its_time_its_memory_and_its_limits_from_the_configuration) {
  config::Config config;
  EXPECT_THAT(own_deep_test_arguments(config), ElementsAre("--seconds", "10", "--memory-share", "0.5"));
  config.deep_test.time = std::chrono::milliseconds{2500};
  config.gpu_probe.memory_percent = 90;
  config.gpu_probe.kernels = "sm_90";
  config.expectation.thresholds = {{"gpu.pcie_bandwidth.host_to_device", 7.5},
                                   {"gpu.p2p.pair_share", 0.3},
                                   {"gpu.temperature.margin", -3}};
  EXPECT_THAT(own_deep_test_arguments(config),
              ElementsAre("--seconds", "2.5", "--memory-share", "0.9", "--kernels", "sm_90", "--threshold",
                          "gpu.p2p.pair_share=0.3", "--threshold", "gpu.pcie_bandwidth.host_to_device=7.5"));
}

TEST(OwnDeepTest, refuses_what_it_does_not_understand) {
  const auto problem_of = [](const std::vector<std::string>& arguments) {
    const auto summary = run_own_deep_test(arguments, MonoTime{});
    EXPECT_THAT(summary.tests, IsEmpty());
    EXPECT_THAT(summary.gpus, IsEmpty());
    return summary.problem;
  };
  EXPECT_EQ(problem_of({"--fast", "yes"}), "--fast: unknown");
  EXPECT_EQ(problem_of({"--seconds"}), "--seconds: expected a value");
  for (const std::string text : {"gpu.p2p.pair_share", "gpu.p2p.pair_share=", "gpu.p2p.pair=1", "=1", ""})
    EXPECT_THAT(problem_of({"--threshold", text}), HasSubstr("expected ID=NUMBER")) << text;
}

}  // namespace
}  // namespace autopilot::diagnostics
