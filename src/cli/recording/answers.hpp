// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/clock.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"
#include "core/yaml.hpp"
#include "host/ethtool/ethtool.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::cli {

// The report, with every group of readings, as nvml.yaml; nullopt without an NVML library. PCI ids of the
// GPUs come from sysfs.
[[nodiscard]] std::optional<YamlNode> driver_answers(const host::GpuReport& report, const host::Files& files);

// An entry of `ethernet_ports` in machine.yaml.
[[nodiscard]] YamlNode port_answers(const Result<host::EthtoolPort>& port);

// An entry of `tests` in machine.yaml. Ages are relative to `now`.
[[nodiscard]] YamlNode active_test(const Result<Observations>& found, Instant now);

}  // namespace autopilot::cli
