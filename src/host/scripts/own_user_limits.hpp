// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.hpp"

namespace autopilot::host {

// For a program that runs as the user of an agent that is not root: keeps that user's rights from it, for
// ever. Concerns the calling thread and what it starts: the process must have one.
//
// Needs no_new_privs. Afterwards this process
// - makes no socket: of the Unix kind never, for with one the agent takes it for itself; of other kinds only
//   with `has_network`;
// - reads no memory and no environment of processes outside, the agent's among them, and where the kernel
//   can forbid it (Landlock 6) sends them no signal;
// - writes no file but below /dev and /tmp.
// It still reads what that user reads. unsupported: the kernel has no Landlock, or the processor is unknown.
[[nodiscard]] Status confine_own_user(bool has_network);

}  // namespace autopilot::host
