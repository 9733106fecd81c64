// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/files/files.hpp"

namespace autopilot::host {

// The port that people name when they speak of a network adapter at a PCI address: "mlx5_0/1" of an
// InfiniBand adapter, "eth0" of an Ethernet one; of several the first. Empty: there is none now, as when the
// adapter failed or its driver is not loaded.
[[nodiscard]] std::string port_of_adapter(const Files& files, std::string_view pci_address);

// PCI addresses of the devices that a driver of the kernel works with ("mlx5_core"); empty where it is not
// loaded.
[[nodiscard]] std::vector<std::string> devices_of_driver(const Files& files, std::string_view driver);

}  // namespace autopilot::host
