// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/adapter_port.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kPciDevices = "/sys/bus/pci/devices/";
constexpr std::string_view kParts = "/sys/bus/auxiliary/devices";

// "mlx5_0/1" where the device speaks InfiniBand; RoCE is named by its Ethernet interface.
std::string infiniband_port(const Files& files, const std::string& device) {
  const auto devices = files.list(device + "/infiniband");
  if (!devices || devices->empty()) return {};
  // By this path a device that hangs is asked in another process.
  const std::string ports = "/sys/class/infiniband/" + devices->front() + "/ports";
  const auto numbers = files.list(ports);
  if (!numbers || numbers->empty()) return {};
  if (files.read_word(ports + "/" + numbers->front() + "/link_layer").value_or("") != "InfiniBand") return {};
  return devices->front() + "/" + numbers->front();
}

}  // namespace

std::string port_of_adapter(const Files& files, std::string_view pci_address) {
  const auto address = canonical_pci_address(pci_address);
  if (!address) return {};
  const std::string device = std::string(kPciDevices) + *address;
  if (std::string port = infiniband_port(files, device); !port.empty()) return port;
  const auto interfaces = files.list(device + "/net");
  return interfaces && !interfaces->empty() ? interfaces->front() : std::string();
}

std::vector<std::string> devices_of_driver(const Files& files, std::string_view driver) {
  std::vector<std::string> addresses;
  // Beside the links to its devices stand files such as bind and new_id.
  for (const std::string& name :
       files.list("/sys/bus/pci/drivers/" + std::string(driver)).value_or(std::vector<std::string>{}))
    if (canonical_pci_address(name) == name) addresses.push_back(name);
  return addresses;
}

RdmaPart rdma_part(const Files& files, std::string_view pci_address) {
  const std::string device = std::string(kPciDevices) + std::string(pci_address);
  const auto entries = files.list(device).value_or(std::vector<std::string>{});
  if (std::ranges::find(entries, "infiniband") != entries.end()) return RdmaPart::started;
  const bool is_loaded = files.exists("/sys/module/mlx5_ib");
  const auto part = std::ranges::find_if(
      entries, [](const std::string& entry) { return entry.starts_with("mlx5_core.rdma."); });
  if (part == entries.end()) {
    if (files.exists(kParts)) return RdmaPart::off;
    return is_loaded ? RdmaPart::untold : RdmaPart::no_driver;
  }
  if (files.exists(device + "/" + *part + "/driver")) return RdmaPart::started;
  return is_loaded ? RdmaPart::not_started : RdmaPart::no_driver;
}

std::optional<std::string> pci_address_of_part(const Files& files, std::string_view part) {
  // A name from the kernel log: it leads nowhere else.
  if (part.find('/') != std::string_view::npos) return std::nullopt;
  const auto path = files.resolve(std::string(kParts) + "/" + std::string(part));
  if (!path) return std::nullopt;
  const auto folders = split(*path, '/');
  if (folders.size() < 2) return std::nullopt;
  const std::string_view parent = folders[folders.size() - 2];
  auto address = canonical_pci_address(parent);
  return address == parent ? address : std::nullopt;
}

}  // namespace autopilot::host
