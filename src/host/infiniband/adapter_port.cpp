// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/adapter_port.hpp"

#include "core/subject.hpp"

namespace autopilot::host {
namespace {

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
  const std::string device = "/sys/bus/pci/devices/" + *address;
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

}  // namespace autopilot::host
