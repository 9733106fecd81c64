// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <iostream>
#include <memory>

#include "cli/cli.hpp"
#include "cli/output/format.hpp"
#include "cli/verbs.hpp"
#include "telemetry/build_info.hpp"

namespace autopilot::cli {
namespace {

int version(OutputFormat format) {
  const auto build = telemetry::build_info();
  if (format == OutputFormat::table) {
    std::cout << "autopilot " << build.version << " (" << build.commit << ", " << build.compiler << ", "
              << build.type << ")\n";
  } else {
    const boost::json::object object{{"version", build.version},
                                     {"commit", build.commit},
                                     {"compiler", build.compiler},
                                     {"type", build.type}};
    print_json(boost::json::serialize(object), format);
  }
  return kExitHealthy;
}

}  // namespace

void add_version(CLI::App& app, int& exit_code) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::table);
  auto* verb = app.add_subcommand("version", "Show version, commit, compiler and build type");
  add_format_option(*verb, *format);
  verb->footer("Examples:\n  autopilot version\n  autopilot version -o json");
  verb->callback([format, &exit_code] { exit_code = version(*format); });
}

}  // namespace autopilot::cli
