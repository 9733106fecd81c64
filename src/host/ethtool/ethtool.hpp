// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/ethtool/module_memory.hpp"

namespace autopilot::host {

// The state of the link of one port, as its driver reports it.
struct PortLink {
  // Why an interface that is up has no link: a word of link_reason(); empty: it has one, or the driver
  // does not say. detail: what it adds, likewise.
  std::string reason;
  std::string detail;
  std::optional<int> signal_quality;  // of a PHY that reports it; more is better
  std::optional<int> signal_quality_max;
};

// Forward error correction.
struct PortFec {
  std::string mode;  // in use: "off", "baser", "rs", "llrs"; empty: none, or the driver does not say
  // Since the driver began to count; nothing where it does not.
  std::optional<std::uint64_t> corrected_blocks;
  std::optional<std::uint64_t> uncorrectable_blocks;
};

// One Ethernet port. Each part by itself, with the error that is about it. unsupported: the driver has no
// such operation.
struct EthtoolPort {
  Result<PortLink> link;
  Result<PortFec> fec;
  // denied: CAP_NET_ADMIN is missing.
  Result<ModuleMemory> module;
};

// Asks drivers about their Ethernet ports, over the kernel's netlink interface for ethtool.
class Ethtool {
 public:
  Ethtool() = default;
  Ethtool(const Ethtool&) = delete;
  Ethtool& operator=(const Ethtool&) = delete;
  virtual ~Ethtool() = default;

  // One answer for each interface, in their order. timed_out: the driver does not answer, or did not when it
  // was last asked. unavailable: the kernel has no such interface (before 5.6), or a machine tree does not
  // say. exhausted: as many helpers as are allowed hang. internal: the helper failed. Asking is not cheap:
  // the kernel holds its lock of all interfaces while a driver reads a module, which takes it some hundredths
  // of a second. Thread-safe; returns at the deadline.
  [[nodiscard]] virtual std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                              MonoTime deadline) const = 0;

  // unsupported: for machines that are made without.
  [[nodiscard]] static const Ethtool& none();
};

// The answer of the helper about one port, as JSON.
[[nodiscard]] std::string format_ethtool_port(const EthtoolPort& port);
// What format_ethtool_port wrote; anything else is malformed.
[[nodiscard]] Result<EthtoolPort> parse_ethtool_port(std::string_view text);

}  // namespace autopilot::host
