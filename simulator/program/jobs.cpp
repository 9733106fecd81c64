// SPDX-License-Identifier: Apache-2.0
// Jobs of a simulated cluster: jobs list, jobs generate.
#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "program/program.hpp"
#include "simulator/jobs/folder.hpp"
#include "simulator/jobs/scenario.hpp"

namespace autopilot::simulator {
namespace {

struct GenerateOptions {
  std::string out;
  std::string scenario;
  std::uint64_t seed = 0;
  int nodes = 0;
  double hours = 0;
  double rate = 4;
};

struct GenerateFlags {
  CLI::Option* scenario = nullptr;
  CLI::Option* seed = nullptr;
  CLI::Option* nodes = nullptr;
  CLI::Option* hours = nullptr;
};

Result<simulated_jobs::Scenario> chosen(const GenerateOptions& options, const GenerateFlags& flags) {
  if (flags.scenario->count() > 0) return simulated_jobs::named_scenario(options.scenario);
  if (flags.seed->count() == 0)
    return fail(Errc::malformed, "name a scenario with --scenario, or draw one with --seed");
  simulated_jobs::ScenarioOptions drawn;
  if (flags.nodes->count() > 0) drawn.nodes = options.nodes;
  if (flags.hours->count() > 0) drawn.hours = options.hours;
  drawn.faults_per_1000_node_days = options.rate;
  return simulated_jobs::make_scenario(options.seed, drawn);
}

Status generate(const GenerateOptions& options, const GenerateFlags& flags) {
  simulated_jobs::Generator generator(TRY(chosen(options, flags)));
  const auto counts = TRY(simulated_jobs::write_folder(generator, options.out));
  const jobs::Labels& labels = generator.labels();
  std::cout << options.out << ": " << generator.scenario().title << "\n";
  for (const api::JobFile file : api::kJobFiles)
    std::cout << "  " << std::left << std::setw(16) << api::file_name(file) << std::right << std::setw(10)
              << counts[static_cast<std::size_t>(file)] << " lines\n";
  std::cout << "  " << labels.faults.size() << " faults, " << labels.confounders.size() << " confounders\n";
  return {};
}

void list() {
  for (const simulated_jobs::Scenario& scenario : simulated_jobs::named_scenarios())
    std::cout << std::left << std::setw(28) << scenario.name << scenario.title << "\n";
}

void add_generate(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<GenerateOptions>();
  auto* verb = app.add_subcommand("generate", "Write a folder of job telemetry with labels");
  verb->add_option("--out", options->out, "the new folder")->required();
  GenerateFlags flags;
  flags.scenario = verb->add_option("--scenario", options->scenario, "a name of: autopilot-sim jobs list");
  flags.seed = verb->add_option("--seed", options->seed, "draw a scenario; equal seeds give equal files");
  flags.nodes = verb->add_option("--nodes", options->nodes, "with --seed: nodes of the job, 1 to 4096");
  flags.hours = verb->add_option("--hours", options->hours, "with --seed: length (default: 24)");
  auto* rate = verb->add_option("--faults-per-1000-node-days", options->rate,
                                "with --seed: rate of faults; 4 is usual in the field")
                   ->capture_default_str();
  flags.scenario->excludes(flags.seed);
  for (CLI::Option* option : {flags.nodes, flags.hours, rate})
    option->excludes(flags.scenario);
  verb->footer(
      "Examples:\n"
      "  autopilot-sim jobs generate --out hang --scenario hang_lost_rank\n"
      "  autopilot-sim jobs generate --out day --seed 7 --nodes 16 \\\n"
      "      --faults-per-1000-node-days 500\n"
      "  autopilot jobs replay hang");
  verb->callback([options, flags, &outcome] { outcome = generate(*options, flags); });
}

}  // namespace

void add_jobs(CLI::App& app, Status& outcome) {
  auto* verb = app.add_subcommand("jobs", "Simulate the jobs of a cluster (docs/reference/job-telemetry.md)");
  verb->require_subcommand(1);
  add_generate(*verb, outcome);
  verb->add_subcommand("list", "List the named scenarios")->callback([] { list(); });
  verb->footer(
      "Examples:\n"
      "  autopilot-sim jobs list\n"
      "  autopilot-sim jobs generate --out hang --scenario hang_lost_rank");
}

}  // namespace autopilot::simulator
