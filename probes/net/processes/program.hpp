// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// Path of a program from PATH; nullopt if it is not found.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

// The child runs the program; its output, including errors, is the child's output. The first argument is the
// program's name.
[[nodiscard]] Work work_of_program(std::string file, std::vector<std::string> arguments);

}  // namespace autopilot::probes::net
