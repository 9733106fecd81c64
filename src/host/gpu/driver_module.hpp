// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/files/files.hpp"

namespace autopilot::host {

// The kernel module of the NVIDIA driver is loaded; says nothing about whether it works.
[[nodiscard]] inline bool is_nvidia_module_loaded(const Files& files) {
  return files.exists("/proc/driver/nvidia/version");
}

}  // namespace autopilot::host
