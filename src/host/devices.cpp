// SPDX-License-Identifier: Apache-2.0
#include "host/devices.hpp"

#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

bool has_entries(const Files& files, std::string_view directory) {
  const auto names = files.list(directory);
  return names && !names->empty();
}

}  // namespace

bool has_devices(const Files& files, std::string_view kind) {
  if (kind == "nvme") return has_entries(files, "/sys/class/nvme");
  if (kind == "infiniband") return has_entries(files, "/sys/class/infiniband");
  if (kind == "nvidia_gpu") return has_nvidia_gpu(files);
  if (kind == "amd_gpu") return has_amd_gpu(files);
  return false;
}

}  // namespace autopilot::host
