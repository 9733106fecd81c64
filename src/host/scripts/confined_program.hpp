// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
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

// What to start so that the program runs confined: `autopilot helper confined ...`, which starts it with
// fewer rights, and ends with this process and with all that the program started. No environment but PATH and
// LANG, the folder /, no core files, no new privileges. Root runs it as any user (as root: with root's
// rights). Anybody else runs it as himself alone, without capabilities and as confine_own_user says. denied:
// the user is another; unavailable: others could change the program.
[[nodiscard]] Result<Command> confined_command(const ConfinedProgram& program);

// Exit code of `helper confined` when the program could not be confined or executed; the reason is on
// standard error.
inline constexpr int kNotConfined = 126;

// `autopilot helper confined AGENT USER NETWORK PATH [ARGUMENT...]`, as a child of the process AGENT. Returns
// the exit code of the program.
[[nodiscard]] int run_confined(const std::vector<std::string>& arguments);

}  // namespace autopilot::host
