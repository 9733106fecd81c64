// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "checks/kernel_log/decode.hpp"
#include "core/log_parts.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// True for every record that the NVIDIA drivers may have written, and for few others; costs next to nothing.
[[nodiscard]] bool may_be_nvidia(std::string_view text);
[[nodiscard]] inline LogParts log_part_of(std::string_view text) {
  return may_be_nvidia(text) ? LogParts::gpu_driver : LogParts::others;
}

// The Xids and SXids of the NVIDIA driver and of its NVSwitch driver, without any fact of the catalog: name,
// fault_class and action stay empty. Nothing when the record is none of them; what else these drivers write
// is for the catalog's log rules.
[[nodiscard]] std::optional<DecodedRecord> decode_nvidia(const host::KernelRecord& record);

// Reads what follows "<code>, " in an Xid line into `decoded`, whose code is set: pid, process, text, and
// what the text of certain codes says. Leaves out what is not there or not well-formed.
void read_xid_body(std::string_view body, DecodedRecord& decoded);

}  // namespace autopilot::checks
