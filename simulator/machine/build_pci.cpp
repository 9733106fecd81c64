// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>

#include "core/parse.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

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

}  // namespace

void build_pci(const Description& description, Machine& machine) {
  machine.files.make_directory("/sys/bus/pci/devices");
  for (const PciGroup& group : description.pci)
    GroupBuilder(description, group, machine.files).build();
}

}  // namespace autopilot::simulator
