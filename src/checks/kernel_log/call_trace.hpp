// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// One row of a call trace: " nfs4_proc_getattr+0x6b/0x110 [nfsv4]".
struct TraceFrame {
  std::string_view function;
  std::string_view module;  // empty: it is part of the kernel itself
};
// Nothing: the text is no such row, or one that the kernel itself marks as a guess ("? ...").
[[nodiscard]] std::optional<TraceFrame> parse_trace_frame(std::string_view text);

// Where a task that hangs waits, by the call trace that the kernel writes below its report.
struct WaitingPlace {
  std::string function;  // the first that is not about waiting itself
  std::string module;    // the first module on the way; empty: none is
};

// By the sequence of the report ("INFO: task ... blocked for more than ..."). Reports without a trace are
// left out. `records` in their order.
[[nodiscard]] std::map<std::uint64_t, WaitingPlace> waiting_places(
    std::span<const host::KernelRecord> records);
// What waiting_places needs to see.
[[nodiscard]] bool may_be_trace(const host::KernelRecord& record);

}  // namespace autopilot::checks
