// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

// From this share of its power limit on a GPU has no room for a load of ours.
inline constexpr double kMostPowerBefore = 0.9;

// Before anything is put on a GPU. Errc::conflict: somebody computes on it, or it already draws nearly all
// that it may; the text names them. What is not known refuses nothing.
[[nodiscard]] Status check_is_free(const std::optional<std::vector<unsigned>>& processes,
                                   const SensorValues& values);

}  // namespace autopilot::probes::gpu
