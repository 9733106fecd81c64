// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::probes::gpu {

// How many iterations a batch should have where one of them takes so long: about a quarter of a second, or
// all of `seconds` where that is less. At least one.
[[nodiscard]] std::uint64_t iterations_of_batch(double seconds_of_one, double seconds);

// What nccl-tests multiplies the rate of an all-reduce with, to compare it with what a link carries: each
// byte of n ranks goes over 2 (n - 1) / n links.
[[nodiscard]] double bus_factor(int ranks);

}  // namespace autopilot::probes::gpu
