// SPDX-License-Identifier: Apache-2.0
#include "core/parse.hpp"
#include "core/text.hpp"
#include "core/yaml_text.hpp"
#include "host/ethtool/module_image.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

constexpr const char* kPortCounters[] = {"symbol_error",
                                         "link_error_recovery",
                                         "link_downed",
                                         "port_rcv_errors",
                                         "port_rcv_remote_physical_errors",
                                         "port_rcv_switch_relay_errors",
                                         "port_xmit_discards",
                                         "port_xmit_constraint_errors",
                                         "port_rcv_constraint_errors",
                                         "local_link_integrity_errors",
                                         "excessive_buffer_overrun_errors",
                                         "VL15_dropped"};
constexpr const char* kTrafficCounters[] = {"port_xmit_wait",      "port_rcv_data",     "port_xmit_data",
                                            "port_rcv_packets",    "port_xmit_packets", "unicast_rcv_packets",
                                            "unicast_xmit_packets"};
constexpr const char* kHardwareCounters[] = {"duplicate_request",     "implied_nak_seq_err",
                                             "local_ack_timeout_err", "out_of_buffer",
                                             "out_of_sequence",       "packet_seq_err",
                                             "req_cqe_error",         "resp_cqe_error",
                                             "rnr_nak_retry_err",     "req_transport_retries_exceeded"};

std::string guid_of(const std::string& text) {
  const std::string hex = hex_of(text, 10);
  return "946d:ae" + hex.substr(0, 2) + ":" + hex.substr(2, 4) + ":" + hex.substr(6, 4);
}

void write_port(const InfinibandDescription& kind, const std::string& port, int number, FileTree& files) {
  files.write_value(port + "/state", "4: ACTIVE");
  files.write_value(port + "/phys_state", "5: LinkUp");
  files.write_value(port + "/rate", kind.rate);
  files.write_value(port + "/link_layer", "InfiniBand");
  files.write_value(port + "/lid", "0x" + std::to_string(10 + number));
  files.write_value(port + "/sm_lid", "0x1");
  files.write_value(port + "/lid_mask_count", "0");
  files.write_value(port + "/cap_mask", "0xa751e84a");
  for (const char* counter : kPortCounters)
    files.write_number(port + "/counters/" + counter, 0);
  for (const char* counter : kTrafficCounters)
    files.write_number(port + "/counters/" + counter, 1'000'000 + number);
  for (const char* counter : kHardwareCounters)
    files.write_number(port + "/hw_counters/" + counter, 0);
}

void write_adapter(const Description& description, const InfinibandDescription& kind, const Slot& slot,
                   int number, Machine& machine) {
  FileTree& files = machine.files;
  const std::string pci = files.resolve("/sys/bus/pci/devices/" + slot.address).value_or("");
  const std::string device = pci + "/infiniband/" + slot.name;
  files.write_value(device + "/fw_ver", kind.firmware);
  files.write_value(device + "/board_id", kind.board);
  files.write_value(device + "/hca_type", kind.type);
  files.write_value(device + "/hw_rev", "0");
  files.write_value(device + "/node_type", "1: CA");
  files.write_value(device + "/node_desc", description.node + " " + slot.name);
  files.write_value(device + "/node_guid", guid_of(description.id + slot.address));
  files.write_value(device + "/sys_image_guid", guid_of(description.id + slot.address));
  files.link(device + "/device", pci);
  write_port(kind, device + "/ports/1", number, files);
  files.link("/sys/class/infiniband/" + slot.name, device);
  const auto bus = parse_hex<int>(std::string_view(slot.address).substr(5, 2)).value_or(0);
  write_interface({.name = kind.interface_prefix + std::to_string(bus) + "s0",
                   .directory = pci,
                   .type = 32,
                   .megabits = kind.gigabits * 1000,
                   .mtu = 2044,
                   .number = 10 + number,
                   .is_up = true},
                  machine);
}

// The default route: over the bond, else over the first interface.
void write_routes(const std::string& interface, Machine& machine) {
  FileTree& files = machine.files;
  files.write("/proc/net/route",
              "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
                  interface + "\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" + interface +
                  "\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n");
  files.write("/proc/net/arp",
              "IP address       HW type     Flags       HW address            Mask     Device\n"
              "192.0.2.1        0x1         0x2         00:1c:73:5e:12:01     *        " +
                  interface + "\n" +
                  "192.0.2.53       0x1         0x2         00:1c:73:5e:12:35     *        " + interface +
                  "\n");
  files.write("/etc/resolv.conf", "search example\nnameserver 192.0.2.53\n");
  YamlNode& answer = yaml_member(yaml_member(machine.machine, "name_servers"), "192.0.2.53");
  yaml_member(answer, "outcome") = yaml_word("answered");
  yaml_member(answer, "code") = yaml_integer(0);
  yaml_member(answer, "milliseconds") = yaml_number(0.4);
}

}  // namespace

void write_interface(const InterfaceFiles& interface, Machine& machine) {
  FileTree& files = machine.files;
  const std::string path = interface.directory + "/net/" + interface.name;
  const bool has_device = !interface.directory.ends_with("/virtual");
  const bool is_loopback = interface.type == 772;
  const std::string mac = hex_of(machine.machine.find("node")->text + interface.name, 10);
  files.write_value(path + "/address", is_loopback ? "00:00:00:00:00:00"
                                                   : "02:" + mac.substr(0, 2) + ":" + mac.substr(2, 2) + ":" +
                                                         mac.substr(4, 2) + ":" + mac.substr(6, 2) + ":" +
                                                         mac.substr(8, 2));
  files.write_value(path + "/operstate", is_loopback ? "unknown" : interface.is_up ? "up" : "down");
  files.write_value(path + "/flags", is_loopback ? "0x9" : "0x1003");
  files.write_number(path + "/carrier", interface.is_up ? 1 : 0);
  files.write_number(path + "/carrier_changes", is_loopback ? 0 : 2);
  files.write_number(path + "/carrier_up_count", 1);
  files.write_number(path + "/carrier_down_count", 1);
  if (!is_loopback) {
    files.write_number(path + "/speed", interface.megabits);
    files.write_value(path + "/duplex", "full");
  }
  files.write_number(path + "/mtu", interface.mtu);
  files.write_number(path + "/type", interface.type);
  files.write_number(path + "/ifindex", interface.number);
  files.write_number(path + "/iflink", interface.number);
  for (const char* counter : {"rx_bytes", "tx_bytes", "rx_packets", "tx_packets"})
    files.write_number(path + "/statistics/" + counter, 48'213'044);
  for (const char* counter : {"rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors",
                              "rx_frame_errors", "rx_missed_errors", "tx_carrier_errors", "collisions"})
    files.write_number(path + "/statistics/" + counter, 0);
  if (has_device) files.link(path + "/device", interface.directory);
  files.link("/sys/class/net/" + interface.name, path);
}

void build_infiniband(const Description& description, Machine& machine) {
  if (!description.infiniband) return;
  int number = 0;
  for (const Slot& slot : description.slots("infiniband"))
    write_adapter(description, *description.infiniband, slot, number++, machine);
}

void build_ethernet(const Description& description, Machine& machine) {
  FileTree& files = machine.files;
  const std::string virtual_devices = "/sys/devices/virtual";
  write_interface({.name = "lo", .directory = virtual_devices, .type = 772, .mtu = 65536}, machine);
  int number = 2;
  for (const Slot& slot : description.slots("ethernet")) {
    for (const EthernetDescription& port : description.ethernet) {
      if (port.name != slot.name) continue;
      const auto pci = files.resolve("/sys/bus/pci/devices/" + slot.address).value_or("");
      write_interface(
          {.name = port.name, .directory = pci, .megabits = port.megabits, .mtu = 9000, .number = number++},
          machine);
      if (!port.master.empty()) {
        files.link(pci + "/net/" + port.name + "/master", virtual_devices + "/net/" + port.master);
        files.write_value(pci + "/net/" + port.name + "/flags", "0x1843");
      }
    }
  }
  if (!description.ethernet.empty())
    write_routes(description.bond ? description.bond->name : description.ethernet.front().name, machine);
  if (!description.bond) return;
  write_interface({.name = description.bond->name,
                   .directory = virtual_devices,
                   .megabits = description.bond->megabits,
                   .mtu = 9000,
                   .number = number},
                  machine);
  const std::string bond = virtual_devices + "/net/" + description.bond->name;
  files.write_value(bond + "/flags", "0x1443");
  files.write_value(bond + "/bonding/mode", "802.3ad 4");
  std::string slaves;
  for (const EthernetDescription& port : description.ethernet)
    if (port.master == description.bond->name) slaves += (slaves.empty() ? "" : " ") + port.name;
  files.write_value(bond + "/bonding/slaves", slaves);
  files.write_value(bond + "/bonding/mii_status", "up");
  files.write_value(bond + "/bonding/ad_aggregator", "1");
  files.write_value(bond + "/bonding/ad_partner_mac", "00:1c:73:5e:12:01");
  for (const std::string_view slave : split_words(slaves)) {
    const std::string member =
        files.resolve("/sys/class/net/" + std::string(slave)).value_or("") + "/bonding_slave";
    files.write_value(member + "/mii_status", "up");
    files.write_value(member + "/ad_aggregator_id", "1");
    files.write_number(member + "/link_failure_count", 0);
  }
  files.write(bond + "/uevent", "DEVTYPE=bond\nINTERFACE=" + description.bond->name + "\n");
}

namespace {

constexpr int kSfp28 = 25000;

YamlNode module_node(const host::ModuleImage& image) {
  YamlNode node = yaml_map();
  const auto memory = image.memory();
  if (!memory) return node;
  for (const auto& [place, bytes] : memory->parts)
    yaml_member(node, to_string(place)) = yaml_word(to_hex(bytes));
  return node;
}

}  // namespace

void build_modules(const Description& description, Machine& machine) {
  for (const EthernetDescription& port : description.ethernet) {
    YamlNode& node = yaml_member(yaml_member(machine.machine, "ethernet_ports"), port.name);
    YamlNode& fec = yaml_member(node, "fec");
    yaml_member(fec, "mode") = yaml_word("rs");
    yaml_member(fec, "corrected_blocks") = yaml_integer(48'213);
    yaml_member(fec, "uncorrectable_blocks") = yaml_integer(0);
    const auto image = port.megabits <= kSfp28 ? host::ModuleImage::sfp28() : host::ModuleImage::qsfp28();
    yaml_member(node, "module") = module_node(image);
  }
}

}  // namespace autopilot::simulator
