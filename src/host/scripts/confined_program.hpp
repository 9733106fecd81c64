// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "core/result.hpp"
#include "host/process/child.hpp"

namespace autopilot::host {

// A program of the operator and what it may have.
struct ConfinedProgram {
  std::string path;
  std::vector<std::string> arguments;
  std::string user = "nobody";  // name, or number of a user without one
  bool has_network = false;     // false: root gives it an empty network namespace, others take sockets away
};

// The command that runs the program confined: `autopilot helper confined ...`. It starts the program with
// fewer rights, and ends with this process; all processes that the program started end with it. No
// environment but PATH and LANG, the folder /, no core files, no new privileges. Root runs it as any user (as
// root: with root's rights). Another user runs it only as itself, without capabilities and with the limits of
// confine_own_user. denied: `user` is another user; unavailable: other users could change the program.
[[nodiscard]] Result<Command> confined_command(const ConfinedProgram& program);

// Exit code of `helper confined` when the program could not be confined or executed; the reason is on
// standard error.
inline constexpr int kNotConfined = 126;

// `autopilot helper confined AGENT USER NETWORK PATH [ARGUMENT...]`, as a child of the process AGENT. Returns
// the exit code of the program.
[[nodiscard]] int run_confined(const std::vector<std::string>& arguments);

}  // namespace autopilot::host
