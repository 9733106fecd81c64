// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/gpu_probe_operations.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::diagnostics {
namespace {

using testing::ElementsAre;

std::vector<std::string> arguments_of(const std::vector<OperationKind>& kinds, std::string_view id) {
  const auto kind = std::ranges::find(kinds, id, &OperationKind::id);
  return kind == kinds.end() ? std::vector<std::string>{} : std::get<host::Command>(kind->test).arguments;
}

TEST(GpuProbeOperations, take_their_time_and_their_memory_from_the_configuration) {
  const auto kinds = gpu_probe_operations(
      {.time = std::chrono::seconds{2}, .memory_percent = 80, .deadline = std::chrono::minutes{1}});
  EXPECT_THAT(arguments_of(kinds, "gpu.memory_test"), ElementsAre("helper", "gpu_probe", "gpu.memory_test",
                                                                  "--seconds", "2", "--memory-share", "0.8"));
  EXPECT_THAT(arguments_of(kinds, "gpu.sdc"),
              ElementsAre("helper", "gpu_probe", "gpu.sdc", "--seconds", "2"));
  for (const OperationKind& kind : kinds) {
    EXPECT_EQ(kind.deadline, std::chrono::minutes{1}) << kind.id;
    EXPECT_TRUE(kind.is_told_reservation) << kind.id;
  }
}

// Who adds a test says so in config/settings.cpp: without that no schedule could have it.
TEST(GpuProbeOperations, can_all_be_scheduled) {
  for (const OperationKind& kind : gpu_probe_operations(config::GpuProbe{})) {
    const auto parsed = config::parse("gpu_tests: {checks: [" + kind.id + "]}", "config.yaml", {});
    EXPECT_TRUE(parsed) << parsed.error().what;
  }
}

TEST(GpuProbeOperations, use_no_kernels_above_the_level_of_the_configuration) {
  EXPECT_THAT(arguments_of(gpu_probe_operations({.kernels = "sm_90"}), "gpu.compute"),
              ElementsAre("helper", "gpu_probe", "gpu.compute", "--seconds", "0.4", "--kernels", "sm_90"));
}

TEST(GpuProbeOperations, of_a_machine_that_does_not_exist_its_drivers_are_asked) {
  EXPECT_THAT(
      arguments_of(gpu_probe_operations(config::GpuProbe{}, {"/tree", "/nvml.so", "/cuda.so"}), "gpu.p2p"),
      ElementsAre("helper", "gpu_probe", "gpu.p2p", "--seconds", "0.4", "--tree", "/tree", "--library",
                  "/nvml.so", "--cuda-library", "/cuda.so"));
}

}  // namespace
}  // namespace autopilot::diagnostics
