// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>

namespace autopilot::cli {

void add_learn_propose(CLI::App& learn, int& exit_code);

}  // namespace autopilot::cli
