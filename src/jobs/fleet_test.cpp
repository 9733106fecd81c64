// SPDX-License-Identifier: Apache-2.0
#include "jobs/fleet.hpp"

#include <gtest/gtest.h>

namespace autopilot::jobs::fleet_test {
namespace {

constexpr WallTime kEnd{std::chrono::hours(500000)};

NoisyPort noisy_port(const std::string& node, float errors) {
  return {node, "mlx5_0", "leaf-1", errors, 0, true, false};
}

TEST(FleetNoise, jobs_hear_of_noisy_ports_below_their_leaf) {
  Fleet fleet(10);
  fleet.note_noise(std::vector{noisy_port("n1", 20), noisy_port("n2", 30)}, kEnd);
  ASSERT_EQ(fleet.noise_below("leaf-1", kEnd).size(), 2U);
  EXPECT_EQ(fleet.noise_below("leaf-1", kEnd)[1].node, "n2");
  EXPECT_TRUE(fleet.noise_below("leaf-2", kEnd).empty());
}

TEST(FleetNoise, a_port_that_two_jobs_note_counts_once) {
  Fleet fleet(10);
  fleet.note_noise(std::vector{noisy_port("n1", 20)}, kEnd);
  fleet.note_noise(std::vector{noisy_port("n1", 40)}, kEnd);
  const auto noise = fleet.noise_below("leaf-1", kEnd);
  ASSERT_EQ(noise.size(), 1U);
  EXPECT_EQ(noise[0].errors, 40);
}

TEST(FleetNoise, what_is_not_noted_again_is_forgotten) {
  Fleet fleet(10);
  fleet.note_noise(std::vector{noisy_port("n1", 20)}, kEnd);
  EXPECT_EQ(fleet.noise_below("leaf-1", kEnd + std::chrono::minutes(2)).size(), 1U);
  EXPECT_TRUE(fleet.noise_below("leaf-1", kEnd + std::chrono::minutes(3)).empty());
  fleet.note_noise({}, kEnd + std::chrono::minutes(3));
  EXPECT_TRUE(fleet.noise_below("leaf-1", kEnd).empty());
}

}  // namespace
}  // namespace autopilot::jobs::fleet_test
