// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// The file of a program, as PATH has it. Nothing: no folder of PATH does.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

// The child becomes the program in that file: what that writes, errors too, is what the child says. The first
// argument is the program's name.
[[nodiscard]] Work work_of_program(std::string file, std::vector<std::string> arguments);

}  // namespace autopilot::probes::net
