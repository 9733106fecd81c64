// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <sys/types.h>

#include "core/result.hpp"

namespace autopilot::host {

// Runs one program so that nothing of it outlives this process, `parent` or the program itself, also what it
// put into a session of its own. For a process with one thread that is a child of `parent` and has no other
// children.
//
// `become` is called in the child and returns only when it failed. SIGTERM, also sent by the kernel when
// `parent` dies, is handed on to the program; 50 ms later it and all that it started are killed. Whoever
// sends SIGKILL to this process ends the program alone: send SIGTERM before.
//
// Returns the exit code of the program, or dies by the signal that the program died by. unavailable: `parent`
// is gone.
[[nodiscard]] Result<int> run_supervised(pid_t parent, const std::function<int()>& become);

// Called in the child once it is who it stays, for the kernel forgets it at every change of the user: it is
// killed when `parent` dies. unavailable: it is gone.
[[nodiscard]] Status die_with(pid_t parent, int signal);

}  // namespace autopilot::host
