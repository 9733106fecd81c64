// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {

// A GPU as the driver shows it to this process: CUDA_VISIBLE_DEVICES, of AMD HIP_VISIBLE_DEVICES, hides and
// reorders.
struct GpuFacts {
  cuda::Device device = 0;
  int index = 0;
  std::string name;
  std::string uuid;         // "GPU-01234567-89ab-..."; of NVIDIA alone, as the capability
  std::string pci_address;  // "0000:3b:00.0"
  int capability_major = 0;
  int capability_minor = 0;
  unsigned multiprocessors = 0;  // likewise
  std::size_t memory_bytes = 0;

  // "8.0" is 80.
  [[nodiscard]] int capability() const { return capability_major * 10 + capability_minor; }
};

// What the driver found when it was initialised. Errc::not_found: the driver has no GPU.
[[nodiscard]] Result<std::vector<GpuFacts>> list_gpus(const Driver& driver);

// Those that `wanted` names by index, UUID (its beginning will do, if it is one GPU's) or PCI address; all
// where it is empty. Each once, in the order of the driver.
[[nodiscard]] Result<std::vector<GpuFacts>> choose_gpus(const std::vector<GpuFacts>& all,
                                                        const std::vector<std::string>& wanted);

// The PCI addresses of `wanted` that none of them has: a driver of CUDA may hide a GPU, or leave out a bad
// one.
[[nodiscard]] std::vector<std::string> addresses_not_listed(const std::vector<GpuFacts>& all,
                                                            const std::vector<std::string>& wanted);

}  // namespace autopilot::probes::gpu
