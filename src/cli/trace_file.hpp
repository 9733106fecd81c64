// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "learning/hazard/fault_events.hpp"

namespace autopilot::cli {

// Reads a fault trace (api/fault_trace.hpp). Errors name the file.
// not_found, denied: cannot be read. malformed: a folder, compressed, or not a trace. exhausted: too large.
[[nodiscard]] Result<std::vector<learning::FaultEvent>> read_fault_trace(const std::string& path);

// Prints what does not fit together in a trace on standard error: the counts, and examples.
void tell_trace_problems(const std::string& path, const learning::TraceProblems& problems);

}  // namespace autopilot::cli
