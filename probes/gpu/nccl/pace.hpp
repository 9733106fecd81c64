// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::probes::gpu {

// Limit of iterations in the streams of a GPU at once, because they use memory of the driver.
inline constexpr std::uint64_t kMostIterations = 1000;
// An iteration above this duration uses fewer bytes.
inline constexpr std::uint64_t kLongIterationMicros = 250'000;

// Bytes of an iteration, from the duration of one with `trial_bytes`: `most_bytes`, or as many whole pages as
// do not take too long; at least `trial_bytes`. Uses integers only, so that all machines get the same result.
[[nodiscard]] std::uint64_t bytes_of_iteration(std::uint64_t most_bytes, std::uint64_t trial_bytes,
                                               std::uint64_t trial_micros);

// Iterations of a batch, from the duration of one: about a quarter of a second, or all of `seconds` if that
// is less. At least one, at most kMostIterations.
[[nodiscard]] std::uint64_t iterations_of_batch(double seconds_of_one, double seconds);

// Factor that nccl-tests applies to the rate of an all-reduce, for comparison with a link rate: each byte of
// n ranks passes 2 (n - 1) / n links.
[[nodiscard]] double bus_factor(int ranks);

}  // namespace autopilot::probes::gpu
