// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.hpp"

namespace autopilot::host {

// Limits a program that runs as the user of an agent that is not root, for ever. Applies to the calling
// thread and to the processes that it starts: the process must have one thread, and no_new_privs.
//
// Afterwards this process
// - cannot create a Unix socket, over which the agent would accept it as itself, and other sockets only with
//   `has_network`;
// - cannot read the memory or the environment of other processes, the agent's included, nor send them a
// signal
//   if the kernel can forbid it (version 6 of Landlock);
// - can write files only below /dev and /tmp.
// It can still read all files of that user. unsupported: the kernel has no Landlock.
[[nodiscard]] Status confine_own_user(bool has_network);

}  // namespace autopilot::host
