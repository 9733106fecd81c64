// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/learn_adopt.hpp"
#include "cli/learn_evaluate.hpp"
#include "cli/learn_propose.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {

void add_learn(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("learn", "Learn from history: propose, adopt and revert changes");
  verb->require_subcommand(1);
  verb->footer(
      "Examples:\n  autopilot learn propose\n  autopilot learn show\n"
      "  autopilot learn evaluate --trace faults.json --nodes 400");
  add_learn_propose(*verb, exit_code);
  add_learn_adoption(*verb, exit_code);
  add_learn_evaluate(*verb, exit_code);
}

}  // namespace autopilot::cli
