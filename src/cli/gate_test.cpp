// SPDX-License-Identifier: Apache-2.0
#include "cli/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {

namespace {

using api::PreflightOutcome;
using testing::ElementsAre;
using testing::IsEmpty;

api::PreflightResult result(PreflightOutcome outcome, bool may_start) {
  api::PreflightResult one;
  one.node = "gpu-7";
  one.outcome = outcome;
  one.may_start = may_start;
  one.message = "gpu.pcie_bandwidth passed 2 h ago on the 8 GPUs of this pod";
  return one;
}

TEST(GateWords, say_what_it_means_for_the_job) {
  EXPECT_EQ(line_of(result(PreflightOutcome::passed, true)),
            "node gpu-7: gpu.pcie_bandwidth passed 2 h ago on the 8 GPUs of this pod; the job may start");
  EXPECT_THAT(line_of(result(PreflightOutcome::failed, false)),
              testing::EndsWith("; the job does not start on this node"));
  EXPECT_THAT(line_of(result(PreflightOutcome::failed, true)),
              testing::EndsWith("; preflight.failed of the node is start, so the job starts; with stop the "
                                "pod would be held back"));
  EXPECT_THAT(line_of(result(PreflightOutcome::could_not_look, true)),
              testing::EndsWith("lets the job start"));
  EXPECT_THAT(line_of(result(PreflightOutcome::could_not_look, false)),
              testing::EndsWith("keeps the job from starting"));
  auto simulated = result(PreflightOutcome::passed, true);
  simulated.simulated = true;
  EXPECT_THAT(line_of(simulated), testing::StartsWith("node gpu-7 (SIMULATED): "));
}

TEST(GateWords, tests_stand_between_commas) {
  EXPECT_THAT(parse_test_list(" gpu.pcie_bandwidth, gpu.memory_bandwidth,,"),
              ElementsAre("gpu.pcie_bandwidth", "gpu.memory_bandwidth"));
  EXPECT_THAT(parse_test_list(""), IsEmpty());
}

TEST(GateWords, how_far_a_test_is_is_no_news) {
  api::PreflightProgress before{"gpu-7", "is being made", {{"a", api::PreflightState::running, "10 %", {}}}};
  api::PreflightProgress now{"gpu-7", "is being made", {{"a", api::PreflightState::running, "20 %", {}}}};
  EXPECT_TRUE(is_news(std::nullopt, before));
  EXPECT_FALSE(is_news(before, now));
  now.message = "waits";
  EXPECT_TRUE(is_news(before, now));
}

}  // namespace

}  // namespace autopilot::cli
