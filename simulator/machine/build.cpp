// SPDX-License-Identifier: Apache-2.0
#include "machine/build.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

#include "core/parse.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::simulator {
namespace {

// FNV-1a with a final mix, so that similar texts differ in every digit.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33U);
}

}  // namespace

std::string hex_of(std::string_view text, std::size_t digits) {
  std::string out;
  for (std::uint64_t seed = 0; out.size() < digits; ++seed) {
    std::array<char, 17> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%016llx",
                  static_cast<unsigned long long>(hash_of(text, seed)));
    out += buffer.data();
  }
  return out.substr(0, digits);
}

std::string uuid_of(std::string_view text) {
  const std::string hex = hex_of(text, 32);
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" + hex.substr(13, 3) + "-a" + hex.substr(17, 3) +
         "-" + hex.substr(20, 12);
}

namespace {

void build_identity(const Description& description, Machine& machine) {
  YamlNode& root = machine.machine;
  root = yaml_map();
  yaml_member(root, "schema") = yaml_word("autopilot.machine/v1");
  yaml_member(root, "node") = yaml_word(description.node);
  yaml_member(root, "boot_id") = yaml_word(uuid_of(description.id + " boot"));
  yaml_member(root, "time") = yaml_word("2026-01-15T08:00:00Z");
  yaml_member(root, "uptime") = yaml_word("36h");
  yaml_member(root, "simulated") = yaml_flag(true);
  yaml_member(root, "description") = yaml_word(description.title);
  YamlNode& sync = yaml_member(root, "time_sync");
  yaml_member(sync, "synchronised") = yaml_flag(true);
  yaml_member(sync, "clock_error") = yaml_flag(false);
  yaml_member(sync, "offset_ns") = yaml_integer(-18432);
  yaml_member(sync, "max_error_us") = yaml_integer(21500);
  yaml_member(sync, "estimated_error_us") = yaml_integer(120);
}

constexpr std::string_view kCorrectable[] = {"RxErr",   "BadTLP",      "BadDLLP",    "Rollover",
                                             "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"};
constexpr std::string_view kUncorrectable[] = {"Undefined",     "DLP",
                                               "SDES",          "TLP",
                                               "FCP",           "CmpltTO",
                                               "CmpltAbrt",     "UnxCmplt",
                                               "RxOF",          "MalfTLP",
                                               "ECRC",          "UnsupReq",
                                               "ACSViol",       "UncorrIntErr",
                                               "BlockedTLP",    "AtomicOpBlocked",
                                               "TLPBlockedErr", "PoisonTLPBlocked"};

template <std::size_t N>
std::string zeros(const std::string_view (&names)[N], std::string_view total) {
  std::string text;
  for (const std::string_view name : names)
    text += std::string(name) + " 0\n";
  return text + std::string(total) + " 0\n";
}

struct Device {
  std::string address;
  std::string path;  // its directory in /sys/devices
  const DeviceKind* kind = nullptr;
  int numa = 0;
  int width = 0;  // of the link, if below the maximum of the kind
};

void write_aer(const Device& device, FileTree& files) {
  files.write(device.path + "/aer_dev_correctable", zeros(kCorrectable, "TOTAL_ERR_COR"));
  files.write(device.path + "/aer_dev_nonfatal", zeros(kUncorrectable, "TOTAL_ERR_NONFATAL"));
  files.write(device.path + "/aer_dev_fatal", zeros(kUncorrectable, "TOTAL_ERR_FATAL"));
}

void write_device(const Device& device, const Description& description, FileTree& files) {
  const DeviceKind& kind = *device.kind;
  const std::string& path = device.path;
  files.write_value(path + "/vendor", kind.vendor);
  files.write_value(path + "/device", kind.device);
  files.write_value(path + "/subsystem_vendor", kind.subsystem_vendor);
  files.write_value(path + "/subsystem_device", kind.subsystem_device);
  files.write_value(path + "/class", kind.class_code);
  files.write_value(path + "/revision", "0xa1");
  files.write_number(path + "/enable", 1);
  files.write_value(path + "/power_state", "D0");
  files.write_number(path + "/numa_node", device.numa);
  const int per_node = description.cpu_threads / description.sockets;
  files.write_value(path + "/local_cpulist", std::to_string(device.numa * per_node) + "-" +
                                                 std::to_string((device.numa + 1) * per_node - 1));
  files.write_value(path + "/max_link_speed", kind.speed);
  files.write_value(path + "/current_link_speed", kind.idle_speed.empty() ? kind.speed : kind.idle_speed);
  files.write_number(path + "/max_link_width", kind.width);
  files.write_number(path + "/current_link_width", device.width);
  write_aer(device, files);
  files.link("/sys/bus/pci/devices/" + device.address, path);
  const std::string driver = "/sys/bus/pci/drivers/" + kind.driver;
  files.make_directory(driver);
  files.link(path + "/driver", driver);
  files.link(driver + "/" + device.address, path);
}

// The address of a downstream port: the bus after the upstream port, one device number each.
std::string port_address(const std::string& upstream, std::size_t number) {
  const auto bus = parse_hex<unsigned>(std::string_view(upstream).substr(5, 2)).value_or(0) + 1;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4s:%02x:%02zx.0", upstream.c_str(), bus, number);
  return text.data();
}

class GroupBuilder {
 public:
  GroupBuilder(const Description& description, const PciGroup& group, FileTree& files)
      : description_(description), group_(group), files_(files) {}

  void build() {
    const std::string root = "/sys/devices/pci" + group_.root_port.substr(0, 7) + "/" + group_.root_port;
    const DeviceKind& port = description_.kinds.at("root_port");
    const bool has_switch = !group_.switch_port.empty();
    // A root port runs with what is plugged in.
    const DeviceKind& below = has_switch ? description_.kinds.at("switch_port") : kind(group_.slots.front());
    bridge(group_.root_port, root, port, below);
    for (const char* total :
         {"aer_rootport_total_err_cor", "aer_rootport_total_err_nonfatal", "aer_rootport_total_err_fatal"})
      files_.write_number(root + "/" + total, 0);
    if (has_switch)
      build_switch(root);
    else
      for (const Slot& slot : group_.slots)
        endpoint(slot, root);
  }

 private:
  [[nodiscard]] const DeviceKind& kind(const Slot& slot) const {
    return description_.kinds.find(slot.kind)->second;
  }

  void bridge(const std::string& address, const std::string& path, const DeviceKind& kind,
              const DeviceKind& below) {
    write_device({address, path, &kind, group_.numa, std::min(kind.width, below.width)}, description_,
                 files_);
    files_.write_value(path + "/current_link_speed",
                       below.idle_speed.empty() ? below.speed : below.idle_speed);
  }
  void endpoint(const Slot& slot, const std::string& parent) {
    const DeviceKind& own = kind(slot);
    write_device({slot.address, parent + "/" + slot.address, &own, group_.numa, own.width}, description_,
                 files_);
  }
  void build_switch(const std::string& root) {
    const DeviceKind& port = description_.kinds.at("switch_port");
    const std::string upstream = root + "/" + group_.switch_port;
    bridge(group_.switch_port, upstream, port, port);
    for (std::size_t i = 0; i < group_.slots.size(); ++i) {
      const std::string address = port_address(group_.switch_port, i);
      const std::string downstream = std::string(upstream).append("/").append(address);
      bridge(address, downstream, port, kind(group_.slots[i]));
      endpoint(group_.slots[i], downstream);
    }
  }

  const Description& description_;
  const PciGroup& group_;
  FileTree& files_;
};

void build_pci(const Description& description, Machine& machine) {
  machine.files.make_directory("/sys/bus/pci/devices");
  for (const PciGroup& group : description.pci)
    GroupBuilder(description, group, machine.files).build();
}

}  // namespace

Machine build_machine(const Description& description) {
  Machine machine;
  build_identity(description, machine);
  build_host_files(description, machine);
  build_pci(description, machine);
  build_gpus(description, machine);
  build_amd_gpus(description, machine);
  build_infiniband(description, machine);
  build_ethernet(description, machine);
  build_modules(description, machine);
  build_nvme(description, machine);
  build_raid(description, machine);
  build_mounts(description, machine);
  build_boot_log(description, machine);
  return machine;
}

}  // namespace autopilot::simulator
