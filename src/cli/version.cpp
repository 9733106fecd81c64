// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <features.h>
#include <gnu/libc-version.h>
#include <iostream>
#include <memory>
#include <string>

#include "cli/cli.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "logging/build_info.hpp"

namespace autopilot::cli {
namespace {

std::string built_with_libc() {
  return "glibc " + std::to_string(__GLIBC__) + "." + std::to_string(__GLIBC_MINOR__);
}

// Of the machine, which the program runs with.
std::string running_libc() {
  return std::string("glibc ") + ::gnu_get_libc_version();
}

int show_version(OutputFormat format) {
  if (format == OutputFormat::table) {
    std::cout << version_line() << "\n";
    return kExitHealthy;
  }
  const auto build = logging::build_info();
  const boost::json::object object{{"version", build.version},   {"commit", build.commit},
                                   {"compiler", build.compiler}, {"type", build.type},
                                   {"libc", running_libc()},     {"builtWithLibc", built_with_libc()}};
  print_json(boost::json::serialize(object), format);
  return kExitHealthy;
}

}  // namespace

std::string version_line() {
  const auto build = logging::build_info();
  std::string line = "autopilot ";
  line.append(build.version).append(" (").append(build.commit).append(", ").append(build.compiler);
  line.append(", ").append(build.type).append(", ").append(running_libc());
  if (running_libc() != built_with_libc()) line += ", built with " + built_with_libc();
  return line + ")";
}

void add_version(CLI::App& app, int& exit_code) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::table);
  auto* verb = app.add_subcommand("version", "Show version, commit, compiler, build type and C library");
  add_format_option(*verb, *format);
  verb->footer("Examples:\n  autopilot version\n  autopilot version -o json\n  autopilot --version");
  verb->callback([format, &exit_code] { exit_code = show_version(*format); });
}

}  // namespace autopilot::cli
