// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/verbs.hpp"
#include "telemetry/build_info.hpp"

namespace autopilot::cli {

void add_version(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("version", "Show version, commit and compiler of this program");
  verb->callback([&exit_code] {
    const auto build = telemetry::build_info();
    std::cout << "autopilot " << build.version << " (" << build.commit << ", " << build.compiler << ", "
              << build.type << ")\n";
    exit_code = 0;
  });
}

}  // namespace autopilot::cli
