// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/result.hpp"
#include "host/gpu/kfd_processes.hpp"
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

// The first of the processes that is NVIDIA's MPS server, through which others use a GPU; nullopt if there is
// none, or `proc` does not show it, as in a container with its own pid namespace.
[[nodiscard]] std::optional<unsigned> find_mps_server(std::span<const unsigned> processes,
                                                      const std::string& proc = "/proc");

// Checks the kernel driver's data before load is put on an AMD GPU. Errc::conflict: a process computes on it;
// with must_be_idle also if its users are unknown, or it is divided. Otherwise unknown data does not lead to
// a refusal.
[[nodiscard]] Status check_amd_use(const Result<host::KfdProcesses>& seen, const std::string& pci_address,
                                   bool must_be_idle);

}  // namespace autopilot::probes::gpu
