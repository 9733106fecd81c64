// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

namespace autopilot::probes::gpu {

// The first of the processes that is NVIDIA's MPS server, through which others use a GPU; nothing where none
// is, or `proc` does not say it, as in a container that sees no processes but its own.
[[nodiscard]] std::optional<unsigned> find_mps_server(std::span<const unsigned> processes,
                                                      const std::string& proc = "/proc");

}  // namespace autopilot::probes::gpu
