// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::host {

// One port of an RDMA device.
struct IbPort {
  std::string device;  // "mlx5_0"
  // 0: the device does not list its ports; `problem` has the cause, and nothing else is known
  int number = 1;
  std::optional<Error> problem;  // why the state could not be read; `state` is empty then
  std::string state;  // "down", "init", "armed", "active", "active_defer"; the kernel's word in lower case
  std::string physical_state;  // "linkup", "polling", "disabled", "sleep", ...; likewise
  std::string link_layer;      // "InfiniBand", "Ethernet" (RoCE)
  std::optional<double> rate_gbps;
  std::string adapter;  // what makes two adapters siblings: board id, else type; empty: unknown
  std::string pci_address;
  std::string driver;  // "mlx5_core", "efa", ...; empty: unknown
  bool is_virtual_function = false;

  // "mlx5_0/1": the key of the subject; "mlx5_0" of a device that does not list its ports.
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
// of; empty: none, or the kernel does not report it.
[[nodiscard]] std::string interface_of(const Files& files, const IbPort& port);

// "4: ACTIVE" -> "active".
[[nodiscard]] std::optional<std::string> parse_ib_state(std::string_view text);
// "400 Gb/sec (4X NDR)" -> 400.
[[nodiscard]] std::optional<double> parse_ib_rate(std::string_view text);

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

// Network adapters whose counters must not be read: each read makes their firmware complain in the kernel
// log.
class SparedAdapters {
 public:
  SparedAdapters() = default;
  SparedAdapters(const SparedAdapters&) = delete;
  SparedAdapters& operator=(const SparedAdapters&) = delete;
  virtual ~SparedAdapters() = default;
  // Thread-safe.
  [[nodiscard]] virtual bool is_spared(const std::string& pci_address, MonoTime deadline) const = 0;

  // Spares no adapter.
  [[nodiscard]] static const SparedAdapters& none();
};

// Learns from the kernel log: an adapter whose driver reports that its firmware refused to read a register is
// spared until the next boot. Without the log it learns nothing. What user space wrote does not count.
class ComplainingAdapters final : public SparedAdapters {
 public:
  static constexpr std::size_t kMaxAdapters = 256;

  explicit ComplainingAdapters(const KernelLog& log) : log_(log) {}
  [[nodiscard]] bool is_spared(const std::string& pci_address, MonoTime deadline) const override;

 private:
  const KernelLog& log_;
  mutable std::mutex mutex_;
  mutable std::uint64_t next_ = 0;               // guarded by mutex_, as below
  mutable std::set<std::string> complaining_{};  // PCI addresses
};

}  // namespace autopilot::host
