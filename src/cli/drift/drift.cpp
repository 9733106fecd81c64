// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/drift/drift_output.hpp"
#include "cli/open_machine.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/clock.hpp"
#include "host/facts/machine_facts.hpp"

namespace autopilot::cli {
namespace {

constexpr Duration kPatienceOfFacts = std::chrono::seconds{20};

struct DriftOptions {
  std::vector<std::string> files;
  std::string recipe;
  MachineChoice machine;
  OutputFormat format = OutputFormat::table;
};

Result<drift::FactSet> facts_of(const MachineChoice& choice) {
  const auto settings = load_settings("").value_or(config::Config{});
  const agent::Machine machine = TRY(open_machine(choice, settings, Timeline::at_end, {}));
  const Instant now = machine.host->clock.now();
  auto read = host::read_machine_facts(*machine.host, now.mono + kPatienceOfFacts);
  drift::FactSet set{.node = machine.node, .time = format_time(now.wall), .facts = {}, .missing = {}};
  for (host::MachineFact& fact : read.known)
    set.facts.emplace(std::move(fact.key), drift::Fact{std::move(fact.value), std::move(fact.source)});
  for (auto& [key, reason] : read.missing)
    set.missing.emplace(key, std::move(reason));
  return set;
}

Result<std::vector<drift::FactSet>> read_snapshots(const std::vector<std::string>& files) {
  std::vector<drift::FactSet> sets;
  std::set<std::string> nodes;
  for (const std::string& file : files) {
    const auto text = TRY(read_settings_text(file, "snapshot"));
    sets.push_back(TRY(drift::parse_facts(text, file)));
    if (!nodes.insert(sets.back().node).second)
      return fail(Errc::malformed,
                  file + ": another file is of node " + sets.back().node + " too; compare each node once");
  }
  return sets;
}

int show_snapshot(const DriftOptions& options) {
  const auto facts = facts_of(options.machine);
  if (!facts) return report(facts.error());
  if (options.format == OutputFormat::table)
    std::cout << render_facts(*facts, terminal_style());
  else if (options.format == OutputFormat::yaml)
    print_document(drift::format_facts(*facts));
  else
    print_json(facts_json(*facts), options.format);
  return kExitHealthy;
}

int exit_code_of(const std::vector<RecipeReport>& reports) {
  const auto any = [&reports](drift::RowResult result) {
    return std::ranges::any_of(reports, [result](const RecipeReport& one) { return one.count(result) > 0; });
  };
  if (any(drift::RowResult::differs)) return kExitDegraded;
  return any(drift::RowResult::missing) ? kExitUnknown : kExitHealthy;
}

Result<std::vector<RecipeReport>> compare_with_recipe(const DriftOptions& options) {
  const auto text = TRY(read_settings_text(options.recipe, "recipe"));
  const auto recipe = TRY(drift::parse_recipe(text, options.recipe));
  std::vector<drift::FactSet> sets = TRY(read_snapshots(options.files));
  if (options.files.empty()) sets.push_back(TRY(facts_of(options.machine)));
  std::vector<RecipeReport> reports;
  for (const drift::FactSet& facts : sets)
    reports.push_back({facts.node, options.recipe, drift::compare(facts, recipe)});
  return reports;
}

int show_recipe(const DriftOptions& options) {
  const auto reports = compare_with_recipe(options);
  if (!reports) return report(reports.error());
  if (options.format != OutputFormat::table)
    print_json(reports_json(*reports), options.format);
  else
    for (const RecipeReport& one : *reports)
      std::cout << (&one == &reports->front() ? "" : "\n") << render_report(one, terminal_style());
  return exit_code_of(*reports);
}

int show_siblings(const DriftOptions& options) {
  const auto sets = read_snapshots(options.files);
  if (!sets) return report(sets.error());
  const drift::SiblingReport found = drift::compare_siblings(*sets);
  if (options.format == OutputFormat::table)
    std::cout << render_siblings(found, sets->size(), terminal_style());
  else
    print_json(siblings_json(found, sets->size()), options.format);
  if (!found.differences.empty()) return kExitDegraded;
  return found.unknown.empty() ? kExitHealthy : kExitUnknown;
}

int show_drift(const DriftOptions& options) {
  if (!options.recipe.empty()) {
    if (!options.files.empty() && !options.machine.is_this_machine())
      return report_usage("compare snapshots or a machine with the recipe, not both");
    return show_recipe(options);
  }
  if (options.files.size() < 2)
    return report_usage(
        "name a recipe (--against RECIPE.yaml), or two snapshots and more (autopilot drift snapshot > FILE)");
  return show_siblings(options);
}

void add_snapshot_of_drift(CLI::App& drift, int& exit_code) {
  auto options = std::make_shared<DriftOptions>();
  options->format = OutputFormat::yaml;
  auto* verb = drift.add_subcommand("snapshot", "Print the facts of this machine, for a file");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  verb->footer(
      "Facts are versions and settings that do not change while the machine runs. Run it as\n"
      "root for all of them. The default format is YAML.\n"
      "Examples:\n  autopilot drift snapshot > $(hostname).yaml\n  autopilot drift snapshot -o table");
  verb->callback([options, &exit_code] { exit_code = show_snapshot(*options); });
}

}  // namespace

void add_drift(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DriftOptions>();
  auto* verb = app.add_subcommand("drift", "Compare versions and settings with a recipe or among siblings");
  verb->add_option("FILE", options->files, "Snapshots of machines (autopilot drift snapshot)");
  verb->add_option("--against", options->recipe,
                   "Compare this machine, or the snapshots, with this recipe (docs/drift.md)")
      ->type_name("RECIPE");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  add_snapshot_of_drift(*verb, exit_code);
  verb->footer(
      "Driver, CUDA, firmware of GPUs and NICs, kernel, its arguments, modules, sysctl,\n"
      "IOMMU and ACS, MTU, limits. Without a recipe, snapshots are compared among each\n"
      "other: from three on, the value of the majority is named.\n"
      "Examples:\n  autopilot drift --against deploy/examples/drift-recipe.yaml\n"
      "  autopilot drift snapshot > node-a.yaml\n  autopilot drift node-a.yaml node-b.yaml node-c.yaml");
  // The callback of a verb runs also for the verb in it.
  verb->callback([verb, options, &exit_code] {
    if (verb->get_subcommands().empty()) exit_code = show_drift(*options);
  });
}

}  // namespace autopilot::cli
