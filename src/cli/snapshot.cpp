// SPDX-License-Identifier: Apache-2.0
#include "core/snapshot.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "checks/check.hpp"
#include "cli/cli.hpp"
#include "cli/look.hpp"
#include "cli/machine_checks.hpp"
#include "cli/output/format.hpp"
#include "cli/output/terminal.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

struct SnapshotOptions {
  MachineChoice machine;
  OutputFormat format = OutputFormat::table;
};

std::string value_of(const Observation& observation) {
  if (!observation.value) return "(" + observation.missing + ")";
  return to_string(*observation.value) + (observation.unit.empty() ? "" : " " + observation.unit);
}

void print_readings(const NodeSnapshot& node) {
  std::cout << printable(node.node) << (node.simulated ? "  SIMULATED" : "") << "  " << format_time(node.time)
            << "  boot " << printable(node.boot_id) << "\n";
  for (const CheckResult& result : node.results) {
    std::cout << "\n" << result.check;
    for (const auto& witness : result.witnesses)
      std::cout << (&witness == &result.witnesses.front() ? "  source: " : ", ") << printable(witness);
    std::cout << "\n";
    for (const Observation& observation : result.observations)
      std::cout << "  " << printable(to_string(observation.subject)) << "  " << printable(observation.name)
                << "  " << printable(value_of(observation)) << "\n";
    if (result.observations.empty())
      for (const Finding& finding : result.findings)
        std::cout << "  " << printable(finding.message) << "\n";
  }
}

int snapshot(const SnapshotOptions& options) {
  const auto settings = load_settings("");
  if (!settings) return report(settings.error());
  const auto all = checks_of(options.machine, *settings);
  if (!all) return report(all.error());
  const auto node = look({options.machine, "", Duration{0}}, all->checks, *all->facts);
  if (!node) return report(node.error());
  if (options.format == OutputFormat::table)
    print_readings(*node);
  else
    print_node(*node, options.format);
  return kExitHealthy;
}

}  // namespace

void add_snapshot(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SnapshotOptions>();
  auto* verb = app.add_subcommand("snapshot", "Show all observations of this machine, without a verdict");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  verb->footer("Examples:\n  autopilot snapshot\n  autopilot snapshot -o json > before.json");
  verb->callback([options, &exit_code] { exit_code = snapshot(*options); });
}

}  // namespace autopilot::cli
