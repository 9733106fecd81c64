// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <sys/types.h>

#include "core/result.hpp"

namespace autopilot::host {

// Runs one program, so that none of its processes outlives the program, this process or `parent`, even in a
// session of its own. The calling process must have one thread and no other children, and be a child of
// `parent`.
//
// `become` is called in the child, and returns only if it failed. SIGTERM, which the kernel also sends when
// `parent` dies, is forwarded to the program; 50 ms later the program and all processes that it started are
// killed. SIGKILL to this process ends the program alone: send SIGTERM first.
//
// Returns the exit code of the program, or dies by the signal that ended it. unavailable: `parent` has ended.
[[nodiscard]] Result<int> run_supervised(pid_t parent, const std::function<int()>& become);

// The calling process gets `signal` when `parent` dies. Call it after the last change of the user, which
// resets this in the kernel. unavailable: `parent` has ended.
[[nodiscard]] Status die_with(pid_t parent, int signal);

}  // namespace autopilot::host
