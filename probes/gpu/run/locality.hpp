// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace autopilot::probes::gpu {

// Lets the calling thread run only on the processors next to a PCI device ("0000:3b:00.0"), so that its
// pinned memory is there as well; the number of their NUMA node. Nothing, and no change, where `sysfs` does
// not say it or the kernel does not let us.
[[nodiscard]] std::optional<int> stay_near(const std::string& pci_address, const std::string& sysfs = "/sys");

}  // namespace autopilot::probes::gpu
