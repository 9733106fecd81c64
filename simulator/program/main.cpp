// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "program/program.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 64;
constexpr int kInternal = 70;

}  // namespace

int main(int argc, char** argv) {
  using namespace autopilot;
  CLI::App app{
      "Simulated machines and jobs: creates, plays and breaks machine trees (docs/machine-tree.md)."};
  app.require_subcommand(1);
  Status outcome;
  for (const auto add :
       {simulator::add_machines, simulator::add_faults, simulator::add_create, simulator::add_play,
        simulator::add_inject, simulator::add_readings, simulator::add_recover, simulator::add_advance,
        simulator::add_feed, simulator::add_deep_test, simulator::add_jobs})
    add(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cout, std::cerr);
    return kUsage;
  } catch (const std::exception& error) {
    std::cerr << "autopilot-sim: internal error: " << error.what() << "\n";
    return kInternal;
  }
  if (outcome) return 0;
  std::cerr << "autopilot-sim: " << outcome.error().what << "\n";
  return kFailed;
}
