// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::cli {

// A function of the kernel in a call trace.
struct TraceFunction {
  std::string_view name;
  std::string_view module;  // empty: of the kernel itself
};

// " ? rpc_wait_bit_killable+0x1e/0xb0 [sunrpc]". nullopt: another line.
[[nodiscard]] std::optional<TraceFunction> parse_trace_function(std::string_view line);

// What a process waits for in that function (a value of why::waits); empty: the function does not show it.
// `is_certain`: false for functions that wait for disks and file servers alike.
struct WaitsFor {
  std::string_view what;
  bool is_certain = false;
};
[[nodiscard]] WaitsFor waits_for(const TraceFunction& function);

// What a blocked process waits for, and in which function.
struct WaitPlace {
  std::string_view what;  // a value of why::waits; empty: not known
  std::string function;
};

// By the call trace that follows the record of a hung task at `index`. Pure.
[[nodiscard]] WaitPlace wait_place(std::span<const host::KernelRecord> records, std::size_t index);

// "it waits for an NFS server". Empty for an unknown value.
[[nodiscard]] std::string_view wait_sentence(std::string_view waits_for);

}  // namespace autopilot::cli
