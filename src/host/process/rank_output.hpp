// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "host/files/log_file.hpp"

namespace autopilot::host {

// The file that the standard output of a process of the running machine goes to. unsupported: a pipe, a
// terminal or another object that cannot be read beside its reader; the text names it. not_found: the process
// ended. denied: it belongs to another user. Calls may block where the file's disk does not answer.
[[nodiscard]] Result<LogFile> open_standard_output(std::int64_t pid);

// False only if the process has ended: there is no such process, it is a zombie, or another one has its pid.
// `started_ticks`: since boot, of its row in /proc.
[[nodiscard]] bool may_run(std::int64_t pid, std::uint64_t started_ticks);

}  // namespace autopilot::host
