// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/dcgm/known_gpu.hpp"

namespace autopilot::host {

const Subject* gpu_of(const DcgmGpu& gpu, std::span<const Subject> gpus) {
  for (const Subject& one : gpus)
    if (!gpu.serial.empty() && one.serial == gpu.serial) return &one;
  for (const Subject& one : gpus) {
    const bool is_other = !gpu.serial.empty() && !one.serial.empty();
    if (!is_other && one.index && *one.index >= 0 && static_cast<std::uint32_t>(*one.index) == gpu.id)
      return &one;
  }
  return nullptr;
}

}  // namespace autopilot::host
