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
  std::string user = "nobody";  // only root can change to it; anybody else's programs run as themselves
  bool has_network = false;     // false: an empty network namespace
};

// What to start so that the program runs confined: `autopilot helper confined ...`, which gives up its rights
// and becomes the program. No environment but PATH and LANG, the folder /, no core files, no new privileges.
[[nodiscard]] Result<Command> confined_command(const ConfinedProgram& program);

// Exit code of `helper confined` when the program could not be confined or executed; the reason is on
// standard error.
inline constexpr int kNotConfined = 126;

// `autopilot helper confined USER NETWORK PATH [ARGUMENT...]`: does not return when all goes well.
[[nodiscard]] int run_confined(const std::vector<std::string>& arguments);

}  // namespace autopilot::host
