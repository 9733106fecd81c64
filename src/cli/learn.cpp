// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/learn_evaluate.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {

void add_learn(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("learn", "Show what faults of the past say about nodes");
  verb->require_subcommand(1);
  verb->footer("Examples:\n  autopilot learn evaluate --trace faults.json --nodes 400");
  add_learn_evaluate(*verb, exit_code);
}

}  // namespace autopilot::cli
