// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot::host {

// What the id of a device says about the GPU that it is, or is a part of. One of the members.
struct NamedGpu {
  std::string uuid;           // "GPU-..."
  std::string instance_uuid;  // "MIG-...": of an instance; of which GPU it does not say
  std::string pci_address;    // as the kernel spells it
  std::optional<int> minor;   // the number of /dev/nvidiaN

  friend bool operator==(const NamedGpu&, const NamedGpu&) = default;
};

// `resource` and `id` as in HeldDevices, in the words of NVIDIA's, AMD's and Google's device plugins and of
// NVIDIA's driver for claims. Nothing: no GPU, or a spelling that nobody here knows.
[[nodiscard]] std::optional<NamedGpu> gpu_named_by(std::string_view resource, std::string_view id);

}  // namespace autopilot::host
