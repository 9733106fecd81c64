// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/sensors/sensors.hpp"

namespace autopilot::probes::gpu {

// Above this share of its power limit, a GPU has no room for our load.
inline constexpr double kMostPowerBefore = 0.9;

// Check before load is put on a GPU. Errc::conflict: a process computes on it, or it already draws nearly its
// power limit; the text names them. Unknown data does not lead to a refusal.
[[nodiscard]] Status check_is_free(const std::optional<std::vector<unsigned>>& processes,
                                   const SensorValues& values);

// The same for tests that need an idle and undivided GPU: Errc::conflict also if its processes are unknown,
// or it is divided (MIG).
[[nodiscard]] Status check_is_idle(const std::optional<std::vector<unsigned>>& processes,
                                   const SensorValues& values, std::optional<bool> is_divided);
// For a GPU whose users are unknown, with the cause: Errc::conflict, with the remedy.
[[nodiscard]] tl::unexpected<Error> refuse_unknown_use(const std::string& why);

}  // namespace autopilot::probes::gpu
