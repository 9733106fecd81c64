// SPDX-License-Identifier: Apache-2.0
// The commands that list: machines, faults.
#include <CLI/CLI.hpp>
#include <iostream>

#include "faults/fault.hpp"
#include "machine/description.hpp"
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

namespace {

void print(const FaultType& type) {
  std::cout << type.id << "\n    " << type.title << "\n    subject: " << type.subject;
  if (!type.magnitude.empty())
    std::cout << "; magnitude: " << type.magnitude << " (" << type.default_magnitude << ")";
  for (std::size_t i = 0; i < type.kinds.size(); ++i)
    std::cout << (i == 0 ? "; kinds: " : ", ") << type.kinds[i];
  std::cout << "\n";
}

}  // namespace

void add_faults(CLI::App& app, Status&) {
  auto* verb = app.add_subcommand("faults", "List the faults, their subjects, magnitudes and kinds");
  verb->callback([] {
    for (const FaultType& type : fault_types())
      print(type);
  });
}

}  // namespace autopilot::simulator
