// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "host/gpu/kfd_processes.hpp"

namespace autopilot::probes::gpu {

// Before anything is put on a GPU of AMD, of what its kernel driver told. Errc::conflict: somebody computes
// on it; where it must be idle also: nobody tells who does, or it is divided. Else what is not known refuses
// nothing.
[[nodiscard]] Status check_amd_use(const Result<host::KfdProcesses>& seen, const std::string& pci_address,
                                   bool must_be_idle);

}  // namespace autopilot::probes::gpu
