// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "machine/builtin.hpp"
#include "program/program.hpp"

namespace autopilot::simulator {

void add_machines(CLI::App& app, Status&) {
  auto* verb = app.add_subcommand("machines", "List the built-in machines");
  verb->callback([] {
    for (const BuiltinMachine& machine : builtin_machines())
      std::cout << machine.id << std::string(machine.id.size() < 14 ? 14 - machine.id.size() : 1, ' ')
                << machine.title << "\n";
  });
}

}  // namespace autopilot::simulator
