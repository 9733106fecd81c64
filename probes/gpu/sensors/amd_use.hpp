// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "host/gpu/kfd_processes.hpp"

namespace autopilot::probes::gpu {

// Checks the kernel driver's data before load is put on an AMD GPU. Errc::conflict: a process computes on it;
// with must_be_idle also if its users are unknown, or it is divided. Otherwise unknown data does not lead to
// a refusal.
[[nodiscard]] Status check_amd_use(const Result<host::KfdProcesses>& seen, const std::string& pci_address,
                                   bool must_be_idle);

}  // namespace autopilot::probes::gpu
