// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

#include "cli/open_machine.hpp"

namespace autopilot::cli {

// --root TREE, --simulate SCENARIO
void add_machine_options(CLI::App& verb, MachineChoice& choice);

}  // namespace autopilot::cli
