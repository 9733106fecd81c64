// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace autopilot::probes::gpu {

// Restricts the calling thread to the processors next to a PCI device ("0000:3b:00.0"), so that its pinned
// memory is local as well; returns the number of their NUMA node. nullopt, without a change, if `sysfs` has
// no data or the kernel refuses.
[[nodiscard]] std::optional<int> stay_near(const std::string& pci_address, const std::string& sysfs = "/sys");

}  // namespace autopilot::probes::gpu
