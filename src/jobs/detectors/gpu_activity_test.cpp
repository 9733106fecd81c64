// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/gpu_activity.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace autopilot::jobs {
namespace {

constexpr PowerLevels kH100{90, 230, 640};

TEST(GpuActivity, a_gpu_that_waits_in_a_collective_is_not_busy) {
  EXPECT_EQ(classify({232, 1.0F, 0.0F, 0.01F}, kH100), GpuActivity::spinning);
  EXPECT_EQ(classify({232, 1.0F, kMissing, kMissing}, kH100), GpuActivity::spinning);
  EXPECT_EQ(classify({232, kMissing, kMissing, kMissing}, kH100), GpuActivity::spinning);
  EXPECT_EQ(classify({kMissing, 1.0F, 0.0F, 0.0F}, {}), GpuActivity::spinning);
}

TEST(GpuActivity, a_gpu_under_load_computes) {
  EXPECT_EQ(classify({610, 0.99F, 0.4F, 0.3F}, kH100), GpuActivity::computing);
  EXPECT_EQ(classify({610, 0.99F, kMissing, kMissing}, kH100), GpuActivity::computing);
  EXPECT_EQ(classify({610, kMissing, kMissing, kMissing}, kH100), GpuActivity::computing);
  EXPECT_EQ(classify({kMissing, 0.99F, 0.4F, kMissing}, {}), GpuActivity::computing);
}

TEST(GpuActivity, a_gpu_without_a_kernel_is_idle) {
  EXPECT_EQ(classify({92, 0, 0, 0}, kH100), GpuActivity::idle);
  EXPECT_EQ(classify({92, kMissing, kMissing, kMissing}, kH100), GpuActivity::idle);
  EXPECT_EQ(classify({kMissing, 0, kMissing, kMissing}, {}), GpuActivity::idle);
}

TEST(GpuActivity, levels_come_from_the_jobs_own_history_if_the_node_does_not_state_them) {
  const PowerLevels levels = levels_from_history(560);
  EXPECT_EQ(classify({230, 1.0F, kMissing, kMissing}, levels), GpuActivity::spinning);
  EXPECT_EQ(classify({550, 1.0F, kMissing, kMissing}, levels), GpuActivity::computing);
  EXPECT_EQ(classify({90, 0.0F, kMissing, kMissing}, levels), GpuActivity::idle);
  EXPECT_EQ(classify({230, 1.0F, kMissing, kMissing}, levels_from_history(kMissing)), GpuActivity::unknown);
}

TEST(GpuActivity, missing_and_contradicting_values_are_unknown) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(classify({}, kH100), GpuActivity::unknown);
  EXPECT_EQ(classify({300, kMissing, kMissing, kMissing}, {}), GpuActivity::unknown);
  EXPECT_EQ(classify({300, kMissing, kMissing, kMissing}, {200, 200, 200}), GpuActivity::unknown);
  EXPECT_EQ(classify({kInfinite, kMissing, kMissing, kMissing}, kH100), GpuActivity::unknown);
  EXPECT_EQ(classify({600, 0, kMissing, kMissing}, kH100), GpuActivity::unknown);
}

TEST(GpuActivity, a_share_needs_half_of_the_gpus) {
  using enum GpuActivity;
  EXPECT_EQ(quiet_share({}), std::nullopt);
  EXPECT_EQ(quiet_share(std::vector{spinning, unknown, unknown}), std::nullopt);
  EXPECT_DOUBLE_EQ(*quiet_share(std::vector{spinning, idle, computing, unknown}), 2.0 / 3);
}

}  // namespace
}  // namespace autopilot::jobs
