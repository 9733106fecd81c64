// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace autopilot::cli {

// Adds `lemons` to the verb `nodes`.
void add_nodes_lemons(CLI::App& nodes, int& exit_code);

}  // namespace autopilot::cli
