// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/pace.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::probes::gpu {
namespace {

constexpr double kBatchSeconds = 0.25;
// So many are in the streams of a GPU at once; more than that takes memory of the driver.
constexpr double kMostIterations = 1000;

}  // namespace

std::uint64_t iterations_of_batch(double seconds_of_one, double seconds) {
  const double wanted = std::min(kBatchSeconds, seconds);
  if (!(seconds_of_one > 0) || !(wanted > 0)) return 1;
  return static_cast<std::uint64_t>(std::clamp(std::ceil(wanted / seconds_of_one), 1.0, kMostIterations));
}

double bus_factor(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

}  // namespace autopilot::probes::gpu
