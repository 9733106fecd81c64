// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

namespace autopilot::probes::gpu {

// The first of the processes that is NVIDIA's MPS server, through which others use a GPU; nullopt if there is
// none, or `proc` does not show it, as in a container with its own pid namespace.
[[nodiscard]] std::optional<unsigned> find_mps_server(std::span<const unsigned> processes,
                                                      const std::string& proc = "/proc");

}  // namespace autopilot::probes::gpu
