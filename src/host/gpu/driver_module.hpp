// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/files/files.hpp"

namespace autopilot::host {

// The kernel module of the NVIDIA driver is loaded; says nothing about whether it works.
[[nodiscard]] inline bool is_nvidia_module_loaded(const Files& files) {
  return files.exists("/proc/driver/nvidia/version");
}

// The same of AMD's.
[[nodiscard]] inline bool is_amdgpu_module_loaded(const Files& files) {
  return files.exists("/sys/module/amdgpu");
}

}  // namespace autopilot::host
