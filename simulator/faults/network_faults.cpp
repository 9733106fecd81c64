// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "faults/effect.hpp"
#include "host/ethtool/module_image.hpp"

namespace autopilot::simulator {
namespace {

struct InfinibandPort {
  std::string path;       // "/sys/class/infiniband/mlx5_0/ports/1"
  std::string pci;        // address
  std::string interface;  // its name in /sys/class/net, or empty
};

InfinibandPort infiniband_port_of(FaultEffect& effect) {
  const auto parts = split(effect.key, '/');
  const std::string device = "/sys/class/infiniband/" + std::string(parts[0]);
  InfinibandPort port{device + "/ports/" + std::string(parts.back()), "", ""};
  const std::string pci = effect.files.resolve(device + "/device").value_or("");
  port.pci = pci.substr(pci.rfind('/') + 1);
  const auto names = effect.files.list(pci + "/net");
  if (!names.empty()) port.interface = pci + "/net/" + names.front();
  return port;
}

void write(FaultEffect& effect, const std::string& path, const std::string& value) {
  if (const auto real = effect.files.resolve(path)) effect.files.write_value(*real, value);
}

// Sets the number of carrier changes: each drop, and each recovery except after the last drop while the link
// is down.
void set_carrier(FaultEffect& effect, const std::string& interface, bool is_up, std::int64_t falls) {
  if (interface.empty()) return;
  const std::int64_t rises = is_up ? falls : falls - 1;
  effect.add_file(interface + "/carrier_changes", falls + rises);
  effect.add_file(interface + "/carrier_down_count", falls);
  effect.add_file(interface + "/carrier_up_count", rises);
  if (is_up) return;
  write(effect, interface + "/carrier", "0");
  write(effect, interface + "/operstate", "down");
  write(effect, interface + "/speed", "-1");
}

void set_port_down(FaultEffect& effect, const InfinibandPort& port, bool is_cable) {
  write(effect, port.path + "/state", "1: DOWN");
  write(effect, port.path + "/phys_state", is_cable ? "3: Disabled" : "2: Polling");
  write(effect, port.path + "/rate", "10 Gb/sec (4X SDR)");
  write(effect, port.path + "/lid", "0xffff");
}

std::string name_of(const std::string& interface) {
  return interface.substr(interface.rfind('/') + 1);
}

}  // namespace

void apply_ib_port_down(FaultEffect& effect) {
  const InfinibandPort port = infiniband_port_of(effect);
  const bool is_cable = effect.kind == "cable";
  effect.add_file(port.path + "/counters/link_downed", 1);
  set_carrier(effect, port.interface, !effect.is_active, 1);
  if (is_cable) effect.log(0, 6, "mlx5_core " + port.pci + ": Port module event: module 0, Cable unplugged");
  effect.log(0, 6, "mlx5_core " + port.pci + " " + name_of(port.interface) + ": Link down");
  if (is_cable) effect.log_end(6, "mlx5_core " + port.pci + ": Port module event: module 0, Cable plugged");
  effect.log_end(6, "mlx5_core " + port.pci + " " + name_of(port.interface) + ": Link up");
  if (effect.is_active) set_port_down(effect, port, is_cable);
}

void apply_ib_port_flap(FaultEffect& effect) {
  const InfinibandPort port = infiniband_port_of(effect);
  const double period = std::max(1.0, effect.magnitude);
  const auto falls = static_cast<std::int64_t>(effect.seconds / period) + 1;
  // Down for the first half of each period.
  const bool is_down = effect.is_active && std::fmod(effect.seconds, period) < period / 2;
  effect.add_file(port.path + "/counters/link_downed", falls);
  effect.add_file(port.path + "/counters/link_error_recovery", falls);
  set_carrier(effect, port.interface, !is_down, falls);
  for (std::int64_t fall = 0; fall < std::min(falls, FaultEffect::kMaxRepeats); ++fall) {
    const double at = static_cast<double>(fall) * period;
    effect.log(at, 6, "mlx5_core " + port.pci + " " + name_of(port.interface) + ": Link down");
    effect.log(at + period / 2, 6, "mlx5_core " + port.pci + " " + name_of(port.interface) + ": Link up");
  }
  if (is_down) set_port_down(effect, port, false);
}

void apply_ib_rate(FaultEffect& effect) {
  if (!effect.is_active) return;
  const InfinibandPort port = infiniband_port_of(effect);
  const std::int64_t rate = effect.count();
  write(effect, port.path + "/rate", std::to_string(rate) + " Gb/sec (2X)");
  write(effect, port.interface + "/speed", std::to_string(rate * 1000));
}

void apply_ib_errors(FaultEffect& effect) {
  const InfinibandPort port = infiniband_port_of(effect);
  for (const char* group : {"/counters/", "/hw_counters/"})
    effect.add_file(port.path + group + effect.kind, effect.grown());
}

// The driver waits a minute for each command, which blocks readers of the port's files.
void apply_ib_port_hang(FaultEffect& effect) {
  const InfinibandPort port = infiniband_port_of(effect);
  for (const double after : effect.repeats(60, 60))
    effect.log(after, 3,
               "mlx5_core " + port.pci +
                   ": wait_func:1146:(pid 18422): QUERY_VPORT_COUNTER(0x770) timeout. Will cause a leak of a "
                   "command resource");
  if (!effect.is_active) return;
  YamlNode& unreadable = yaml_member(effect.machine.machine, "unreadable");
  yaml_member(yaml_member(unreadable, port.path), "hangs") = yaml_flag(true);
}

namespace {

// The member's state as the bond shows it.
void set_member_down(FaultEffect& effect, const std::string& interface) {
  const std::string member = effect.files.resolve(interface).value_or("") + "/bonding_slave";
  effect.add_file(member + "/link_failure_count", 1);
  if (effect.is_active && effect.files.value(member + "/mii_status")) {
    effect.files.write_value(member + "/mii_status", "down");
    effect.files.write_value(member + "/ad_aggregator_id", "2");
  }
}

}  // namespace

void apply_lacp_apart(FaultEffect& effect) {
  if (!effect.is_active) return;
  const std::string interface = "/sys/class/net/" + effect.key;
  write(effect, interface + "/bonding_slave/ad_aggregator_id", "2");
  const std::string master = effect.files.resolve(interface + "/master").value_or("");
  if (effect.kind == "switch" && !master.empty())
    effect.files.write_value(master + "/bonding/ad_partner_mac", "00:00:00:00:00:00");
}

void apply_adapter_error(FaultEffect& effect) {
  const std::string label = "mlx5_core " + infiniband_port_of(effect).pci + ": ";
  if (effect.kind == "firmware") {
    effect.log(0, 3, label + "poll_health:824:(pid 0): Fatal error 1 detected");
    effect.log(0.1, 3, label + "print_health_info:424:(pid 0): assert_var[0] 0x00000001");
    effect.log_end(6, label + "mlx5_health_try_recover:353:(pid 4242): health recovery succeeded");
  }
  if (effect.kind == "timeout")
    effect.log(0, 3,
               label +
                   "wait_func:1137:(pid 4242): QUERY_HCA_CAP(0x100) timeout. Will cause a leak of a command "
                   "resource");
  if (effect.kind == "power")
    effect.log(0, 4,
               label + "mlx5_pcie_event:301:(pid 4242): Detected insufficient power on the PCIe slot (27W).");
  if (effect.kind == "hot")
    effect.log(0, 3, label + "Port module event[error]: module 0, Cable error, High Temperature");
  if (effect.kind == "cable") {
    effect.log(0, 3,
               label + "Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)");
    effect.log_end(6, label + "Port module event: module 0, Cable plugged");
  }
}

void apply_gateway_silent(FaultEffect& effect) {
  if (!effect.is_active) return;
  if (effect.kind == "route") {
    effect.files.write("/proc/net/route", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n");
    return;
  }
  const std::string* text = effect.files.text("/proc/net/arp");
  if (text == nullptr) return;
  const std::string address = effect.kind == "resolver" ? "192.0.2.53 " : "192.0.2.1 ";
  std::string changed;
  for (const std::string_view line : split(*text, '\n')) {
    std::string row(line);
    if (const auto flags = row.find("0x2"); row.starts_with(address) && flags != std::string::npos)
      row.replace(flags, 3, "0x0");
    changed += row.empty() ? "" : row + "\n";
  }
  effect.files.write("/proc/net/arp", changed);
}

void apply_name_servers(FaultEffect& effect) {
  constexpr int server_failure = 2;
  if (!effect.is_active) return;
  const bool answers = effect.kind == "failing" || effect.kind == "slow";
  for (YamlMember& server : yaml_member(effect.machine.machine, "name_servers").members) {
    yaml_member(server.value, "outcome") = yaml_word(answers ? "answered" : effect.kind);
    yaml_member(server.value, "code") = yaml_integer(effect.kind == "failing" ? server_failure : 0);
    if (effect.kind == "slow") yaml_member(server.value, "milliseconds") = yaml_integer(1800);
  }
}

void apply_ethernet_down(FaultEffect& effect) {
  const std::string interface = "/sys/class/net/" + effect.key;
  const std::string pci = effect.files.resolve(interface + "/device").value_or("");
  const std::string driver = effect.files.resolve(pci + "/driver").value_or("");
  const std::string label =
      driver.substr(driver.rfind('/') + 1) + " " + pci.substr(pci.rfind('/') + 1) + " " + effect.key;
  set_carrier(effect, interface, !effect.is_active, 1);
  apply_link_reason(effect);
  effect.log(0, 6, label + ": Link down");
  const std::string master = effect.files.resolve(interface + "/master").value_or("");
  if (!master.empty())
    effect.log(
        0.1, 4,
        name_of(master) + ": (slave " + effect.key + "): link status definitely down, disabling slave");
  effect.log_end(6, label + ": Link up");
  set_member_down(effect, interface);
  if (!effect.is_active || master.empty()) return;
  std::int64_t left = 0;
  const std::string slaves = effect.files.value(master + "/bonding/slaves").value_or("");
  for (const std::string_view slave : split_words(slaves))
    if (effect.files.value("/sys/class/net/" + std::string(slave) + "/carrier") == "1")
      left += effect.files.number("/sys/class/net/" + std::string(slave) + "/speed").value_or(0);
  if (left > 0)
    effect.files.write_number(master + "/speed", left);
  else
    set_carrier(effect, master, false, 1);
}

namespace {

constexpr const char* kPorts = "ethernet_ports";

YamlNode& port_of(FaultEffect& effect) {
  return yaml_member(yaml_member(effect.machine.machine, kPorts), effect.key);
}

// Positions of the monitored values in the two layouts of the built-in machines.
struct Monitors {
  const char* part;
  std::size_t begin;  // byte of the part's first
  std::size_t celsius, received, sent;
  std::size_t lanes;
};
constexpr std::array kMonitors{Monitors{"51/00/96", 96, 96, 104, 102, 1},
                               Monitors{"50/00/22", 22, 22, 34, 50, 4}};

// Writes up to `count` words from `at` on, as far as there are bytes.
void write_words(std::string& bytes, std::size_t at, std::size_t count, std::uint16_t word) {
  for (std::size_t end = at + 2 * count; at < end && at + 1 < bytes.size(); at += 2) {
    bytes[at] = static_cast<char>(word >> 8U);
    bytes[at + 1] = static_cast<char>(word & 255U);
  }
}

// Sets the first word from `byte` on, or the word of each lane, to `word`; the layout selects `byte`.
void set_monitor(FaultEffect& effect, std::size_t Monitors::*byte, bool is_of_lanes, std::uint16_t word) {
  YamlNode& module = yaml_member(port_of(effect), "module");
  for (const Monitors& monitors : kMonitors) {
    const YamlNode* part = module.find(monitors.part);
    auto bytes = part == nullptr ? std::nullopt : from_hex(part->text);
    if (!bytes) continue;
    write_words(*bytes, monitors.*byte - monitors.begin, is_of_lanes ? monitors.lanes : 1, word);
    yaml_member(module, monitors.part) = yaml_word(to_hex(*bytes));
  }
}

}  // namespace

void apply_module_light(FaultEffect& effect) {
  if (!effect.is_active) return;
  set_monitor(effect, effect.kind == "sent" ? &Monitors::sent : &Monitors::received, true,
              host::ModuleImage::light(-effect.magnitude));
}

void apply_module_heat(FaultEffect& effect) {
  if (!effect.is_active) return;
  set_monitor(effect, &Monitors::celsius, false, host::ModuleImage::heat(effect.magnitude));
}

void apply_fec_errors(FaultEffect& effect) {
  FaultEffect::add_to(yaml_member(port_of(effect), "fec"),
                      effect.kind == "corrected" ? "corrected_blocks" : "uncorrectable_blocks",
                      effect.grown());
}

void apply_link_reason(FaultEffect& effect) {
  if (!effect.is_active || effect.kind == "untold") return;
  YamlNode& link = yaml_member(port_of(effect), "link");
  const bool is_remote = effect.kind == "remote_fault";
  yaml_member(link, "reason") = yaml_word(is_remote ? "link_training_failed" : effect.kind);
  if (is_remote) yaml_member(link, "detail") = yaml_word("remote_fault");
}

}  // namespace autopilot::simulator
