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
  std::string_view module;  // empty: the function is part of the kernel itself
};
// nullopt: the text is not such a line, or the kernel marks it as unreliable ("? ...").
[[nodiscard]] std::optional<TraceFrame> parse_trace_frame(std::string_view text);

// Where a hung task waits, by the call trace below the kernel's report.
struct WaitingPlace {
  std::string function;  // the first function that does not implement waiting
  std::string module;    // the first module in the trace; empty if there is none
};

// Maps the sequence of a report ("INFO: task ... blocked for more than ...") to its place. Reports without a
// trace are omitted. `records` must be in order.
[[nodiscard]] std::map<std::uint64_t, WaitingPlace> waiting_places(
    std::span<const host::KernelRecord> records);
// True for the records that waiting_places needs.
[[nodiscard]] bool may_be_trace(const host::KernelRecord& record);

}  // namespace autopilot::checks
