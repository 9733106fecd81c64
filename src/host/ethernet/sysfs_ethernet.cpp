// SPDX-License-Identifier: Apache-2.0
#include "core/subject.hpp"
#include "host/ethernet/ethernet_doors.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kFolder = "/sys/class/net/";
constexpr std::int64_t kInfiniband = 32;           // ARPHRD_INFINIBAND of the type file
constexpr std::int64_t kAdministratorWantsUp = 1;  // IFF_UP of the flags file

std::string path_of(const std::string& name, std::string_view file) {
  return std::string(kFolder) + name + "/" + std::string(file);
}

std::uint64_t counter(const Files& files, const std::string& name, std::string_view file) {
  const auto value = files.read_integer(path_of(name, file));
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

std::string last_segment(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

EthernetLink read_link(const Files& files, const std::string& name) {
  EthernetLink link;
  link.name = name;
  link.is_up = (files.read_integer(path_of(name, "flags")).value_or(0) & kAdministratorWantsUp) != 0;
  // The kernel refuses to tell the carrier of an interface that is down.
  link.has_carrier = files.read_integer(path_of(name, "carrier")).value_or(0) == 1;
  link.operational_state = files.read_word(path_of(name, "operstate")).value_or("unknown");
  link.mtu = static_cast<int>(files.read_integer(path_of(name, "mtu")).value_or(0));
  link.carrier_changes = counter(files, name, "carrier_changes");
  link.rx_errors = counter(files, name, "statistics/rx_errors");
  link.tx_errors = counter(files, name, "statistics/tx_errors");
  link.rx_dropped = counter(files, name, "statistics/rx_dropped");
  link.tx_dropped = counter(files, name, "statistics/tx_dropped");
  link.rx_crc_errors = counter(files, name, "statistics/rx_crc_errors");
  if (const auto master = files.resolve(path_of(name, "master"))) link.bond_master = last_segment(*master);
  add_hardware(files, link);
  return link;
}

}  // namespace

void add_hardware(const Files& files, EthernetLink& link) {
  const auto speed = files.read_integer(path_of(link.name, "speed"));
  if (speed && *speed > 0) link.speed_mbps = static_cast<int>(*speed);
  link.duplex = files.read_word(path_of(link.name, "duplex")).value_or("");
  const auto device = files.resolve(path_of(link.name, "device"));
  link.is_physical = device.has_value();
  link.is_infiniband = files.read_integer(path_of(link.name, "type")).value_or(0) == kInfiniband;
  if (!device) return;
  // A virtio interface hangs below its PCI device: the nearest address upwards counts.
  std::string_view path = *device;
  while (!path.empty() && link.pci_address.empty()) {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) break;
    const auto segment = path.substr(slash + 1);
    // "0000:3b:00.0" but not "pci0000:3a" or "virtio0".
    if (segment.size() >= 12 && segment.find('.') != std::string_view::npos)
      if (const auto address = canonical_pci_address(segment)) link.pci_address = *address;
    path = path.substr(0, slash);
  }
}

Result<std::vector<EthernetLink>> SysfsEthernet::links(MonoTime /*deadline*/) const {
  const auto names = files_.list(kFolder.substr(0, kFolder.size() - 1));
  if (!names) {
    if (names.error().code == Errc::not_found && files_.exists("/sys")) return std::vector<EthernetLink>{};
    return fail(names.error());
  }
  std::vector<EthernetLink> links;
  for (const auto& name : *names)
    // Files such as bonding_masters stand beside the interfaces.
    if (name != "lo" && files_.exists(path_of(name, "operstate"))) links.push_back(read_link(files_, name));
  return links;
}

}  // namespace autopilot::host
