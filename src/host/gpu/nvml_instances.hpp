// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host/gpu/gpus.hpp"
#include "host/gpu/nvml_library.hpp"

namespace autopilot::host {

// The parts into which a GPU is divided now. One that goes away while it is asked is left out, and so are all
// where the library cannot tell them.
[[nodiscard]] std::vector<GpuInstance> read_instances(NvmlLibrary& library, nvml::Device gpu);

}  // namespace autopilot::host
