// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "host/files/files.hpp"

namespace autopilot::host {

// Whether the machine has a device of that kind: "nvidia_gpu", "amd_gpu" (in the PCI scan, with or
// without a driver), "nvme" or "infiniband" (the kernel's classes of these). False for another word, and
// where the kernel does not tell.
[[nodiscard]] bool has_devices(const Files& files, std::string_view kind);

}  // namespace autopilot::host
