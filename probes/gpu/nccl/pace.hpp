// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::probes::gpu {

// More are not in the streams of a GPU at once: that takes memory of the driver.
inline constexpr std::uint64_t kMostIterations = 1000;
// An iteration that takes longer is made of fewer bytes.
inline constexpr std::uint64_t kLongIterationMicros = 250'000;

// How many bytes an iteration should have where one of `trial_bytes` takes so long: `most_bytes`, or whole
// pages of which it does not take too long; no fewer than `trial_bytes`. Of whole numbers alone, so that all
// machines come to the same.
[[nodiscard]] std::uint64_t bytes_of_iteration(std::uint64_t most_bytes, std::uint64_t trial_bytes,
                                               std::uint64_t trial_micros);

// How many iterations a batch should have where one of them takes so long: about a quarter of a second, or
// all of `seconds` where that is less. At least one, at most kMostIterations.
[[nodiscard]] std::uint64_t iterations_of_batch(double seconds_of_one, double seconds);

// What nccl-tests multiplies the rate of an all-reduce with, to compare it with what a link carries: each
// byte of n ranks goes over 2 (n - 1) / n links.
[[nodiscard]] double bus_factor(int ranks);

}  // namespace autopilot::probes::gpu
