// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/pace.hpp"

#include <algorithm>
#include <cmath>

#include "probes/gpu/nccl/lane.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr double kBatchSeconds = 0.25;

}  // namespace

std::uint64_t bytes_of_iteration(std::uint64_t most_bytes, std::uint64_t trial_bytes,
                                 std::uint64_t trial_micros) {
  if (trial_micros == 0) return most_bytes;
  const std::uint64_t affordable = trial_bytes * kLongIterationMicros / trial_micros;
  if (affordable >= most_bytes) return most_bytes;
  return std::max(trial_bytes, affordable / Lane::kPage * Lane::kPage);
}

std::uint64_t iterations_of_batch(double seconds_of_one, double seconds) {
  const double wanted = std::min(kBatchSeconds, seconds);
  if (!(seconds_of_one > 0) || !(wanted > 0)) return 1;
  return static_cast<std::uint64_t>(
      std::clamp(std::ceil(wanted / seconds_of_one), 1.0, static_cast<double>(kMostIterations)));
}

double bus_factor(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

}  // namespace autopilot::probes::gpu
