// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "checks/kernel_log/decode.hpp"
#include "core/log_parts.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// True for every record that the NVIDIA drivers may have written, and for few others; very cheap.
[[nodiscard]] bool may_be_nvidia(std::string_view text);
[[nodiscard]] inline LogParts log_part_of(std::string_view text) {
  return may_be_nvidia(text) ? LogParts::gpu_driver : LogParts::others;
}

// Decodes Xids and SXids of the NVIDIA driver and its NVSwitch driver, without the catalog: name, fault_class
// and action stay empty. nullopt for other records; the catalog's log rules decode other lines of these
// drivers.
[[nodiscard]] std::optional<DecodedRecord> decode_nvidia(const host::KernelRecord& record);

}  // namespace autopilot::checks
