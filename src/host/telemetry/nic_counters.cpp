// SPDX-License-Identifier: Apache-2.0
#include "host/telemetry/nic_counters.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net/";
constexpr double kBitsPerByte = 8;
constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;
constexpr std::uint64_t kDataUnit = 4;  // bytes of port_xmit_data and port_rcv_data

using Paths = std::span<const std::string_view>;

// Adds up the counters that exist, and notes each. Missing: none does, or one cannot be read.
template <class Read>
std::optional<std::uint64_t> sum_of(Paths paths, const Read& read, std::vector<NicCounter>& each) {
  std::optional<std::uint64_t> sum;
  for (const std::string_view path : paths) {
    const Result<std::uint64_t> value = read(path);
    if (value) {
      sum = sum.value_or(0) + *value;
      each.push_back({path, *value});
    } else if (value.error().code != Errc::not_found) {
      return std::nullopt;
    }
  }
  return sum;
}

std::string statistics(const std::string& interface, std::string_view file) {
  return std::string(kInterfaces) + interface + "/" + std::string(file);
}

Result<std::uint64_t> read_statistic(const Files& files, const std::string& interface,
                                     std::string_view file) {
  const std::int64_t value = TRY(files.read_integer(statistics(interface, file)));
  if (value < 0) return fail(Errc::malformed, statistics(interface, file) + ": below zero");
  return static_cast<std::uint64_t>(value);
}

void read_interface(const Files& files, const std::string& interface, NicCounters& counters) {
  static constexpr std::array<std::string_view, 1> kTx{"statistics/tx_bytes"};
  static constexpr std::array<std::string_view, 1> kRx{"statistics/rx_bytes"};
  static constexpr std::array<std::string_view, 1> kDowned{"carrier_down_count"};
  static constexpr std::array<std::string_view, 2> kErrors{"statistics/rx_errors", "statistics/tx_errors"};
  const auto read = [&](std::string_view file) { return read_statistic(files, interface, file); };
  counters.tx_bytes = sum_of(kTx, read, counters.each);
  counters.rx_bytes = sum_of(kRx, read, counters.each);
  counters.link_downed = sum_of(kDowned, read, counters.each);
  counters.errors = sum_of(kErrors, read, counters.each);
  if (const auto state = files.read_word(statistics(interface, "operstate"))) {
    // A virtual interface does not report its state.
    if (*state == "up" || *state == "unknown") counters.is_up = true;
    if (*state == "down" || *state == "lowerlayerdown") counters.is_up = false;
  }
  if (const auto speed = files.read_integer(statistics(interface, "speed")); speed && *speed > 0)
    counters.rate_bytes_s = static_cast<double>(*speed) * kMega / kBitsPerByte;
}

std::optional<std::uint64_t> add(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
  if (!one || !other) return std::nullopt;
  return *one + *other;
}

void read_rdma_state(const Files& files, const IbPort& port, NicCounters& counters) {
  const std::string folder = "/sys/class/infiniband/" + port.device + "/ports/" + std::to_string(port.number);
  if (const auto text = files.read_word(folder + "/state"))
    if (const auto state = parse_ib_state(*text)) counters.is_up = *state == "active";
  if (const auto text = files.read_word(folder + "/rate"))
    if (const auto rate = parse_ib_rate(*text)) counters.rate_bytes_s = *rate * kGiga / kBitsPerByte;
}

void read_rdma_counters(const Files& files, const IbPort& port, NicCounters& counters) {
  static constexpr std::array<std::string_view, 1> kTx{"counters/port_xmit_data"};
  static constexpr std::array<std::string_view, 1> kRx{"counters/port_rcv_data"};
  static constexpr std::array<std::string_view, 1> kEfaTx{"hw_counters/tx_bytes"};
  static constexpr std::array<std::string_view, 1> kEfaRx{"hw_counters/rx_bytes"};
  static constexpr std::array<std::string_view, 1> kDowned{"counters/link_downed"};
  static constexpr std::array<std::string_view, 3> kErrors{
      "counters/symbol_error", "counters/port_rcv_errors", "counters/port_xmit_discards"};
  static constexpr std::array<std::string_view, 4> kRetransmits{
      "hw_counters/out_of_sequence", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
      "hw_counters/roce_adp_retrans"};
  static constexpr std::array<std::string_view, 1> kCnp{"hw_counters/rp_cnp_handled"};
  const auto read = [&](std::string_view path) { return read_ib_counter(files, port, path); };
  counters.tx_bytes = sum_of(port.is_efa() ? kEfaTx : kTx, read, counters.each);
  counters.rx_bytes = sum_of(port.is_efa() ? kEfaRx : kRx, read, counters.each);
  if (!port.is_efa()) {
    if (counters.tx_bytes) *counters.tx_bytes *= kDataUnit;
    if (counters.rx_bytes) *counters.rx_bytes *= kDataUnit;
  }
  counters.link_downed = sum_of(kDowned, read, counters.each);
  counters.errors = sum_of(kErrors, read, counters.each);
  counters.retransmits = sum_of(kRetransmits, read, counters.each);
  counters.cnp = sum_of(kCnp, read, counters.each);
}

// RoCE: the counters of the RDMA device leave out what the kernel's network stack sends.
void add_interface(const Files& files, const std::string& interface, NicCounters& counters) {
  NicCounters kernel;
  read_interface(files, interface, kernel);
  counters.tx_bytes = add(counters.tx_bytes, kernel.tx_bytes);
  counters.rx_bytes = add(counters.rx_bytes, kernel.rx_bytes);
  counters.errors = add(counters.errors, kernel.errors);
  if (kernel.link_downed) counters.link_downed = kernel.link_downed;
  counters.each.insert(counters.each.end(), kernel.each.begin(), kernel.each.end());
}

bool is_hardware(const IbPort& port) {
  return !port.is_virtual_function;
}

void add_rdma_ports(const Host& host, std::vector<NicPort>& ports) {
  const auto found = scan_ib_ports(host.files, is_hardware);
  if (!found) return;
  for (const IbPort& port : *found) {
    if (port.number == 0) continue;  // the device did not list its ports; nothing could be read
    const bool has_others = std::ranges::count(*found, port.device, &IbPort::device) > 1;
    ports.push_back({.name = has_others ? port.key() : port.device,
                     .rdma = port,
                     .interface = port.link_layer == "Ethernet" ? interface_of(host.files, port) : "",
                     .pci_address = port.pci_address});
  }
}

bool has_interface(const std::vector<NicPort>& ports, const EthernetLink& link) {
  return std::ranges::any_of(ports, [&](const NicPort& port) {
    return port.interface == link.name ||
           (port.rdma && !link.pci_address.empty() && port.pci_address == link.pci_address);
  });
}

}  // namespace

std::vector<NicPort> scan_nic_ports(const Host& host, MonoTime deadline) {
  std::vector<NicPort> ports;
  add_rdma_ports(host, ports);
  auto links = host.ethernet.links(deadline).value_or(std::vector<EthernetLink>{});
  std::erase_if(links, [](const EthernetLink& link) { return !is_printable(link.name); });
  for (const EthernetLink& link : links)
    if (link.is_port() && !has_interface(ports, link))
      ports.push_back({.name = link.name, .interface = link.name, .pci_address = link.pci_address});
  if (ports.empty())
    for (const EthernetLink& link : links)
      if (link.bond_master.empty() && (link.name.starts_with("eth") || link.driver_kind == "veth"))
        ports.push_back({.name = link.name, .interface = link.name, .pci_address = {}});
  if (ports.size() > kMaxNicPorts) ports.resize(kMaxNicPorts);
  return ports;
}

NicCounters read_nic_counters(const Host& host, const NicPort& port, MonoTime deadline) {
  NicCounters counters;
  if (!port.rdma) {
    read_interface(host.files, port.interface, counters);
    return counters;
  }
  read_rdma_state(host.files, *port.rdma, counters);
  if (host.spared_adapters.is_spared(port.pci_address, deadline)) return counters;
  read_rdma_counters(host.files, *port.rdma, counters);
  if (!port.interface.empty()) add_interface(host.files, port.interface, counters);
  return counters;
}

std::vector<std::string> pci_path(const Files& files, const std::string& address) {
  std::vector<std::string> path;
  const auto place = files.resolve("/sys/bus/pci/devices/" + address);
  if (!place) return path;
  for (const std::string_view part : split(*place, '/'))
    if (part.starts_with("pci") || canonical_pci_address(part)) path.emplace_back(part);
  return path;
}

}  // namespace autopilot::host
