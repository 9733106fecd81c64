// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "program/program.hpp"
#include "scenario/played_tree.hpp"

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

}  // namespace autopilot::simulator
