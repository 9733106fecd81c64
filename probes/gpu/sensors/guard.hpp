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

// The same for who must know that a GPU is idle and whole: Errc::conflict also where nobody tells of its
// processes, or where it is known to be divided (MIG).
[[nodiscard]] Status check_is_idle(const std::optional<std::vector<unsigned>>& processes,
                                   const SensorValues& values, std::optional<bool> is_divided);
// Of a GPU of which nobody tells who uses it, and why: Errc::conflict, with the cure.
[[nodiscard]] tl::unexpected<Error> refuse_unknown_use(const std::string& why);

}  // namespace autopilot::probes::gpu
