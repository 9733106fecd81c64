// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace autopilot::cli {

// show, adopt and revert
void add_learn_adoption(CLI::App& learn, int& exit_code);

}  // namespace autopilot::cli
