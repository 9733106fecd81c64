// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// One port of an RDMA device.
struct IbPort {
  std::string device;  // "mlx5_0"
  int number = 1;      // 0: the device does not tell its ports; `problem` says why, and nothing else is known
  std::optional<Error> problem;  // why the state could not be read; `state` is empty then
  std::string state;  // "down", "init", "armed", "active", "active_defer"; the kernel's word in lower case
  std::string physical_state;  // "linkup", "polling", "disabled", "sleep", ...; likewise
  std::string link_layer;      // "InfiniBand", "Ethernet" (RoCE)
  std::optional<double> rate_gbps;
  std::string adapter;  // what makes two adapters siblings: board id, else type; empty: unknown
  std::string pci_address;
  std::string driver;  // "mlx5_core", "efa", ...; empty: unknown
  bool is_virtual_function = false;

  // "mlx5_0/1": the key of the subject; "mlx5_0" of a device that does not tell its ports.
  [[nodiscard]] std::string key() const {
    return number == 0 ? device : device + "/" + std::to_string(number);
  }
  // Amazon's Elastic Fabric Adapter. The device may be named after its slot instead ("rdmap16s27").
  [[nodiscard]] bool is_efa() const {
    return driver == "efa" || (driver.empty() && device.starts_with("efa_"));
  }
};

// All ports, by device and number, from files that the kernel answers without asking firmware for counters.
// Empty where the machine has no RDMA device. unavailable: there is no sysfs to ask. A port whose state
// cannot be read or understood, and a device whose ports cannot be listed, is there with its problem and
// hides no other.
[[nodiscard]] Result<std::vector<IbPort>> scan_ib_ports(const Files& files);
// The same of devices that are wanted, by what is known without asking them: name, driver, PCI address and
// whether they are virtual functions. The others are asked nothing.
[[nodiscard]] Result<std::vector<IbPort>> scan_ib_ports(const Files& files,
                                                        bool (*is_wanted)(const IbPort& port));

// One counter of a port: `path` below the port's folder ("counters/symbol_error"). Asks the firmware.
// not_found: this port does not count it.
[[nodiscard]] Result<std::uint64_t> read_ib_counter(const Files& files, const IbPort& port,
                                                    std::string_view path);

// The network interface of the same line: "ib0", or that of RoCE, or the bond or bridge that it is a member
// of; empty: none, or the kernel does not tell.
[[nodiscard]] std::string interface_of(const Files& files, const IbPort& port);

// "4: ACTIVE" -> "active".
[[nodiscard]] std::optional<std::string> parse_ib_state(std::string_view text);
// "400 Gb/sec (4X NDR)" -> 400.
[[nodiscard]] std::optional<double> parse_ib_rate(std::string_view text);

}  // namespace autopilot::host
