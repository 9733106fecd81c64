// SPDX-License-Identifier: Apache-2.0
// The commands that create a tree and change it once: create, inject, recover, advance.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "program/program.hpp"
#include "scenario/simulation.hpp"

namespace autopilot::simulator {
namespace {

struct CreateOptions {
  std::string source;
  std::string out;
  std::string at = "0s";
  bool now = false;
};

Result<Duration> moment(const std::string& text, const Simulation& simulation) {
  if (text == "end") return simulation.end();
  const auto duration = parse_duration(text);
  if (!duration) return fail(Errc::malformed, "--at: expected a duration such as 30s, or end");
  return *duration;
}

Status create(const CreateOptions& options) {
  SimulationSource source = TRY(open_source(options.source));
  const Duration elapsed = TRY(moment(options.at, source.simulation));
  if (options.now)
    source.simulation.go_live({std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
                               std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now())},
                              elapsed);
  TRY_STATUS(PlayedTree::create(options.out, source.simulation, elapsed));
  std::cout << options.out << "\n";
  return {};
}

}  // namespace

void add_create(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<CreateOptions>();
  auto* verb = app.add_subcommand("create", "Write a machine tree");
  verb->add_option("SOURCE", options->source, "a built-in machine, a scenario file or a tree")->required();
  verb->add_option("--out", options->out, "the new directory")->required();
  verb->add_option("--at", options->at, "position on the timeline: a duration, or end");
  verb->add_flag("--now", options->now, "use the real clocks, for a tree that will be played");
  verb->callback([options, &outcome] { outcome = create(*options); });
}

namespace {

struct ChangeOptions {
  std::string directory;
  Fault fault;
  double magnitude = 0;
  std::string lasting;
  std::string to;
};

Result<Duration> duration_of(const char* option, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) return fail(Errc::malformed, std::string(option) + ": expected a duration such as 30s");
  return *duration;
}

Status inject(const ChangeOptions& options, bool has_magnitude) {
  PlayedTree tree = TRY(PlayedTree::open(options.directory));
  Fault fault = options.fault;
  fault.at = tree.elapsed();
  if (has_magnitude) fault.magnitude = options.magnitude;
  if (!options.lasting.empty()) fault.until = fault.at + TRY(duration_of("--for", options.lasting));
  TRY_STATUS(tree.simulation().add(fault));
  return tree.write(tree.elapsed());
}

Status recover(const ChangeOptions& options) {
  PlayedTree tree = TRY(PlayedTree::open(options.directory));
  TRY_STATUS(tree.simulation().recover(options.fault.id, tree.elapsed()));
  // The fault ends one moment later.
  return tree.write(tree.elapsed() + std::chrono::milliseconds(1));
}

Status advance(const ChangeOptions& options) {
  PlayedTree tree = TRY(PlayedTree::open(options.directory));
  const Duration to = options.to == "end" ? tree.simulation().end() : TRY(duration_of("--to", options.to));
  if (tree.simulation().live_elapsed({}))
    return fail(Errc::conflict, options.directory + ": its clocks are the real ones and cannot be moved");
  if (to < tree.elapsed())
    return fail(Errc::malformed, "--to: the machine is already at " + format_duration(tree.elapsed()));
  return tree.write(to);
}

}  // namespace

void add_inject(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = app.add_subcommand("inject", "Inject a fault into a machine tree, now");
  verb->add_option("DIR", options->directory, "a machine tree")->required();
  verb->add_option("FAULT", options->fault.id, "see `autopilot-sim faults`")->required();
  verb->add_option("--subject", options->fault.subject, "gpu/3, nic_port/mlx5_0/1, mount//data, ...");
  verb->add_option("--kind", options->fault.kind, "a kind of the fault");
  auto* magnitude = verb->add_option("--magnitude", options->magnitude, "magnitude of the fault");
  verb->add_option("--for", options->lasting, "duration of the fault");
  verb->callback([options, magnitude, &outcome] { outcome = inject(*options, magnitude->count() > 0); });
}

void add_recover(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = app.add_subcommand("recover", "End a fault; its traces remain");
  verb->add_option("DIR", options->directory, "a machine tree")->required();
  verb->add_option("FAULT", options->fault.id, "all faults of this name")->required();
  verb->callback([options, &outcome] { outcome = recover(*options); });
}

void add_advance(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<ChangeOptions>();
  auto* verb = app.add_subcommand("advance", "Advance the time of a machine tree, without waiting");
  verb->add_option("DIR", options->directory, "a machine tree")->required();
  verb->add_option("--to", options->to, "time since the start of its timeline: a duration, or end")
      ->required();
  verb->callback([options, &outcome] { outcome = advance(*options); });
}

}  // namespace autopilot::simulator
