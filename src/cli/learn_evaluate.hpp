// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace autopilot::cli {

// Adds `evaluate` to the verb `learn`.
void add_learn_evaluate(CLI::App& learn, int& exit_code);

}  // namespace autopilot::cli
