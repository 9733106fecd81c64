// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/all_reduce.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace autopilot::probes::gpu {
namespace {

TEST(Pace, a_batch_lasts_a_quarter_of_a_second) {
  EXPECT_EQ(iterations_of_batch(0.01, 3), 25U);
  EXPECT_EQ(iterations_of_batch(0.01, 0.1), 10U) << "or all that is left";
  EXPECT_EQ(iterations_of_batch(5, 3), 1U);
}

TEST(Pace, a_clock_that_does_not_advance_gives_one_iteration) {
  EXPECT_EQ(iterations_of_batch(0, 3), 1U);
  EXPECT_EQ(iterations_of_batch(-1, 3), 1U);
  EXPECT_EQ(iterations_of_batch(std::numeric_limits<double>::quiet_NaN(), 3), 1U);
  EXPECT_EQ(iterations_of_batch(1e-9, 3), 1000U) << "no more than the driver keeps at once";
}

TEST(Pace, an_iteration_of_a_slow_network_has_fewer_bytes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(bytes_of_iteration(256 * kMiB, kMiB, 900), 256 * kMiB) << "0.23 s";
  EXPECT_EQ(bytes_of_iteration(256 * kMiB, kMiB, 0), 256 * kMiB);
  EXPECT_EQ(bytes_of_iteration(256 * kMiB, kMiB, 25'000), 10 * kMiB);
  EXPECT_EQ(bytes_of_iteration(256 * kMiB, kMiB, 30'000) % 4096, 0U);
  EXPECT_EQ(bytes_of_iteration(256 * kMiB, kMiB, 4'000'000), kMiB) << "the rate of fewer bytes is unknown";
  EXPECT_EQ(bytes_of_iteration(8192, 8192, 4'000'000), 8192U);
}

TEST(Pace, the_rate_of_a_bus_is_that_of_nccl_tests) {
  EXPECT_DOUBLE_EQ(bus_factor(2), 1);
  EXPECT_DOUBLE_EQ(bus_factor(4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(16), 1.875);
}

}  // namespace

}  // namespace autopilot::probes::gpu
