// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "host/files/files.hpp"

namespace autopilot::host {

// What keeps the devices of a machine apart on PCIe.
struct PciIsolation {
  std::optional<bool> has_iommu;                   // missing: no sysfs
  std::optional<std::size_t> redirecting_bridges;  // missing: they could not be read
  std::string problem;                             // why they could not be read
};

// Whether a PCIe bridge redirects requests between the devices below it: the control register of its Access
// Control Services. `config`: its configuration space, 4096 bytes. denied: shorter, as without CAP_SYS_ADMIN.
[[nodiscard]] Result<bool> redirects_peer_traffic(std::string_view config);

// Reads the configuration space of every bridge that is awake, which needs CAP_SYS_ADMIN.
[[nodiscard]] PciIsolation read_pci_isolation(const Files& files);

}  // namespace autopilot::host
