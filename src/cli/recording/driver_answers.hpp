// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/yaml.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::cli {

// The report, with every group of readings, as nvml.yaml; nullopt without an NVML library. PCI ids of the
// GPUs come from sysfs.
[[nodiscard]] std::optional<YamlNode> driver_answers(const host::GpuReport& report, const host::Files& files);

}  // namespace autopilot::cli
