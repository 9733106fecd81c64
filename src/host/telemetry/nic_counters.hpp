// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/host.hpp"

namespace autopilot::host {

// A port that jobs may use, with its sources of counters.
struct NicPort {
  std::string name;  // "mlx5_0", "mlx5_0/2" of a device with several ports, "eth0"
  std::optional<IbPort> rdma;
  std::string interface;    // the network interface of the same line; empty: none
  std::string pci_address;  // empty: none
};

// RDMA ports by device and number, then Ethernet ports of hardware without RDMA, by name. Where a machine has
// neither, as in a test cluster: its interfaces that begin with "eth", or ends of a veth pair. At most
// kMaxNicPorts. Empty also where nothing can be read. A virtual function counts only where its physical
// function is not on this machine.
[[nodiscard]] std::vector<NicPort> scan_nic_ports(const Host& host, MonoTime deadline);
inline constexpr std::size_t kMaxNicPorts = 64;

// One file with a counter, as the kernel wrote it.
struct NicCounter {
  std::string_view file;    // "hw_counters/out_of_sequence", "statistics/rx_errors"
  std::uint64_t value = 0;  // in the unit of the file: port_xmit_data counts four bytes as one
};

// Missing: the port does not count it, or it cannot be read. All but the first two grow since the driver was
// loaded.
struct NicCounters {
  std::optional<bool> is_up;
  std::optional<double> rate_bytes_s;  // current line rate
  std::optional<std::uint64_t> tx_bytes, rx_bytes;
  std::optional<std::uint64_t> link_downed;
  std::optional<std::uint64_t> errors;       // symbol and receive errors, discarded packets
  std::optional<std::uint64_t> retransmits;  // out of sequence, sequence errors, timeouts, adaptive ones
  std::optional<std::uint64_t> cnp;          // congestion notification packets handled
  std::vector<NicCounter> each;              // the files with the numbers above
};

// May ask the firmware of the adapter: call it on a thread that can be given up. The counters of a spared
// adapter (SparedAdapters) are missing.
[[nodiscard]] NicCounters read_nic_counters(const Host& host, const NicPort& port, MonoTime deadline);

// The place of a device in the PCI tree, from the root: "pci0000:15", "0000:15:01.0", ... Empty: unknown.
[[nodiscard]] std::vector<std::string> pci_path(const Files& files, const std::string& address);

}  // namespace autopilot::host
