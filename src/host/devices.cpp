// SPDX-License-Identifier: Apache-2.0
#include "host/devices.hpp"

#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

bool has_entries(const Files& files, std::string_view directory) {
  const auto names = files.list(directory);
  return names && !names->empty();
}

bool has_any(const Result<std::vector<PciDevice>>& devices) {
  return devices && !devices->empty();
}

}  // namespace

bool has_devices(const Files& files, std::string_view kind) {
  if (kind == "nvme") return has_entries(files, "/sys/class/nvme");
  if (kind == "infiniband") return has_entries(files, "/sys/class/infiniband");
  if (kind == "nvidia_gpu") return has_any(scan_nvidia_gpus(files));
  if (kind == "amd_gpu") return has_any(scan_amd_gpus(files));
  return false;
}

}  // namespace autopilot::host
