// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.hpp"

#include <CLI/CLI.hpp>

namespace autopilot::cli {

void add_machine_options(CLI::App& verb, MachineChoice& choice) {
  auto* root = verb.add_option("--root", choice.root, "Check a machine tree instead (docs/machine-tree.md)")
                   ->type_name("TREE");
  verb.add_option("--simulate", choice.simulate,
                  "Check a simulated machine: hgx-h100-8, ..., or a scenario file")
      ->type_name("SCENARIO")
      ->excludes(root);
}

}  // namespace autopilot::cli
