// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
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

// What is there of the half of an mlx5 adapter that makes its RDMA device.
enum class RdmaPart : std::uint8_t {
  started,      // also where the RDMA device is in the network namespace of a container
  not_started,  // its driver, mlx5_ib, is loaded and does not have it
  no_driver,    // mlx5_ib is not loaded
  off,          // switched off, or another function of a bond serves for both
  untold,       // there is no RDMA device, and this kernel (before 5.11) does not say why
};
// Of a function at a PCI address that mlx5_core works with.
[[nodiscard]] RdmaPart rdma_part(const Files& files, std::string_view pci_address);

// The PCI address of the function to which a device of the auxiliary bus belongs ("mlx5_core.rdma.2").
[[nodiscard]] std::optional<std::string> pci_address_of_part(const Files& files, std::string_view part);

}  // namespace autopilot::host
