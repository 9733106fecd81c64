// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {

// A GPU as this process sees it: CUDA_VISIBLE_DEVICES, or HIP_VISIBLE_DEVICES for AMD, hides and reorders
// GPUs.
struct GpuFacts {
  cuda::Device device = 0;
  int index = 0;
  std::string name;
  std::string uuid;         // "GPU-01234567-89ab-..."; NVIDIA only, as is the capability
  std::string pci_address;  // "0000:3b:00.0"
  int capability_major = 0;
  int capability_minor = 0;
  unsigned multiprocessors = 0;  // NVIDIA only
  std::size_t memory_bytes = 0;

  // "8.0" is 80.
  [[nodiscard]] int capability() const { return capability_major * 10 + capability_minor; }
};

// The GPUs that the driver found at its initialisation. Errc::not_found: the driver has no GPU.
[[nodiscard]] Result<std::vector<GpuFacts>> list_gpus(const Driver& driver);

// The GPUs that `wanted` names by index, UUID (a unique prefix is sufficient) or PCI address; all if it is
// empty. Each once, in the order of the driver.
[[nodiscard]] Result<std::vector<GpuFacts>> choose_gpus(const std::vector<GpuFacts>& all,
                                                        const std::vector<std::string>& wanted);

// The PCI addresses of `wanted` that no GPU has: the CUDA driver can hide a GPU, or omit a bad one.
[[nodiscard]] std::vector<std::string> addresses_not_listed(const std::vector<GpuFacts>& all,
                                                            const std::vector<std::string>& wanted);

}  // namespace autopilot::probes::gpu
