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
// where an observation without a value says why in "missing", and "attributes" may hold what belongs to it:
// {"by":"process 4242"}. Source and time are the reader's to set.
// Its exit code: 0 when it tested, kChildInUse when somebody's work kept it from that, which the last message
// says; any other when it can say nothing, and why is on standard error.
using ChildLine = std::variant<ChildProgress, Observations>;

inline constexpr int kChildInUse = 75;  // EX_TEMPFAIL of sysexits.h
// All that sixteen GPUs say of each other fits.
inline constexpr std::size_t kMaxChildObservations = 640;
inline constexpr std::size_t kMaxChildAttributes = 16;  // of one observation
inline constexpr std::size_t kMaxChildMessage = 256;    // bytes; a longer one is cut, as an attribute refused

// Pure. malformed for everything else: the child may write what it likes.
[[nodiscard]] Result<ChildLine> parse_child_line(std::string_view line);

// With the line end.
[[nodiscard]] std::string to_line(const ChildProgress& progress);
[[nodiscard]] std::string to_line(const Observations& observations);

// What the helper of an active test that runs a program of its own says on standard output. Where nobody
// reads it any more, the test has no sense: the process group is killed.

// The helper leads a group, which whoever ends it ends as a whole: the program that tests gets the same
// signal, and has the time to stop what it began.
void lead_group_of_test();

void tell(const ChildProgress& progress);
void tell(const Observations& observations);

// Says again and again that it still goes on, until the thread is stopped: that is how the end of a reader is
// noticed.
[[nodiscard]] std::jthread begin_telling(const std::string& what);

}  // namespace autopilot::diagnostics
