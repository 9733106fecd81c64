// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

#include "core/observation.hpp"
#include "core/result.hpp"

namespace autopilot::diagnostics {

// How far the child of an operation is.
struct ChildProgress {
  double progress = 0;  // 0..1
  std::string message;
};

// What the child of an operation writes to its standard output, one JSON object a line: any number of
//   {"progress":0.5,"message":"cpu 3"}
// and at its end once
//   {"observations":[{"name":"self_test.mismatches","value":0,"unit":"count","subject":"host"}]}
// where an observation without a value has the reason in "missing", and "attributes" may add details:
// {"by":"process 4242"}. The reader sets source and time.
// Exit code: 0: the diagnostic ran; kChildInUse: another user holds the GPUs, named in the last message; any
// other: no result, with the reason on standard error.
using ChildLine = std::variant<ChildProgress, Observations>;

inline constexpr int kChildInUse = 75;  // EX_TEMPFAIL of sysexits.h
// Enough for each pair of sixteen GPUs.
inline constexpr std::size_t kMaxChildObservations = 640;
inline constexpr std::size_t kMaxChildAttributes = 16;  // of one observation
inline constexpr std::size_t kMaxChildMessage =
    256;  // bytes; a longer message is cut, a longer attribute refused

// Pure. malformed: anything else; the child may write any bytes.
[[nodiscard]] Result<ChildLine> parse_child_line(std::string_view line);

// With the line end.
[[nodiscard]] std::string to_line(const ChildProgress& progress);
[[nodiscard]] std::string to_line(const Observations& observations);

// Output of the helper of a diagnostic that runs a separate program. If a write to standard output fails (the
// reader has gone), the process group is killed.

// Makes this process the leader of a process group and ignores SIGTERM and SIGPIPE. A signal to the group
// reaches the program too, and the helper waits while the program stops.
void lead_group_of_test();

void tell(const ChildProgress& progress);
void tell(const Observations& observations);

// Writes a progress line every second until the thread is stopped, so that the end of the reader is noticed.
[[nodiscard]] std::jthread begin_telling(const std::string& what);

}  // namespace autopilot::diagnostics
