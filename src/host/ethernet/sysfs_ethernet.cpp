// SPDX-License-Identifier: Apache-2.0
#include "core/subject.hpp"
#include "host/ethernet/ethernet_doors.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kLinkFolder = "/sys/class/net/";
constexpr std::int64_t kInfiniband = 32;     // ARPHRD_INFINIBAND of the type file
constexpr std::int64_t kLinkIsWantedUp = 1;  // IFF_UP of the flags file

std::string path_of(const std::string& name, std::string_view file) {
  return std::string(kLinkFolder) + name + "/" + std::string(file);
}

// The numbers of one interface. The first file that cannot be read or understood is its problem: a zero in
// place of a counter would look like a reset, and in place of a flag like an interface that is switched off.
class Numbers {
 public:
  Numbers(const Files& files, EthernetLink& link) : files_(files), link_(link) {}

  std::int64_t required(std::string_view file) {
    const auto value = files_.read_integer(path_of(link_.name, file));
    if (!value && !link_.problem) link_.problem = value.error();
    return value.value_or(0);
  }
  // Zero where this kernel or driver has no such file.
  std::uint64_t counter(std::string_view file) {
    const auto value = files_.read_integer(path_of(link_.name, file));
    if (!value && value.error().code != Errc::not_found && !link_.problem) link_.problem = value.error();
    return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
  }

 private:
  const Files& files_;
  EthernetLink& link_;
};

std::string last_segment(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

EthernetLink read_link(const Files& files, const std::string& name) {
  EthernetLink link;
  link.name = name;
  Numbers numbers(files, link);
  link.is_up = (numbers.required("flags") & kLinkIsWantedUp) != 0;
  // The kernel refuses to tell the carrier of an interface that is down.
  link.has_carrier = link.is_up && numbers.required("carrier") == 1;
  link.operational_state = files.read_word(path_of(name, "operstate")).value_or("unknown");
  link.mtu = static_cast<int>(files.read_integer(path_of(name, "mtu")).value_or(0));
  link.carrier_changes = numbers.counter("carrier_changes");
  link.rx_errors = numbers.counter("statistics/rx_errors");
  link.tx_errors = numbers.counter("statistics/tx_errors");
  link.rx_dropped = numbers.counter("statistics/rx_dropped");
  link.tx_dropped = numbers.counter("statistics/tx_dropped");
  link.rx_crc_errors = numbers.counter("statistics/rx_crc_errors");
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
  link.is_virtual_function = files.exists(path_of(link.name, "device/physfn"));
  link.is_infiniband = files.read_integer(path_of(link.name, "type")).value_or(0) == kInfiniband;
  // sysfs is not mounted, or shows another network namespace.
  const bool is_shown = device || !link.driver_kind.empty() || files.exists(path_of(link.name, ""));
  if (!is_shown && link.is_up && !link.problem)
    link.problem = Error{Errc::unavailable, path_of(link.name, "device") +
                                                ": not there to say whether the interface is hardware"};
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
  const auto names = files_.list(kLinkFolder.substr(0, kLinkFolder.size() - 1));
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
