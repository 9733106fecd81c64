// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <thread>
#include <unistd.h>

#include "program/program.hpp"
#include "scenario/played_tree.hpp"

namespace autopilot::simulator {
namespace {

using namespace std::chrono_literals;

constexpr auto kStep = 200ms;

volatile std::sig_atomic_t stopped = 0;

void stop(int) {
  stopped = 1;
}

// Prints the faults that start or end in (from, to].
void tell_changes(const Simulation& simulation, Duration from, Duration to) {
  const auto tell = [&](Duration when, const Fault& fault, const char* what) {
    if (when <= from || when > to) return;
    std::cout << format_duration(when) << "  " << fault.id << (fault.subject.empty() ? "" : "  ")
              << fault.subject << "  " << what << std::endl;
  };
  for (const Fault& fault : simulation.faults()) {
    tell(fault.at, fault, "begins");
    if (fault.until) tell(*fault.until, fault, "ends");
  }
}

bool has_changes(const Simulation& simulation, Duration from, Duration to) {
  const auto lies_within = [from, to](Duration when) { return when > from && when <= to; };
  return std::any_of(simulation.faults().begin(), simulation.faults().end(), [&](const Fault& fault) {
    return lies_within(fault.at) || (fault.until && lies_within(*fault.until));
  });
}

Status play(const std::string& directory, bool ends_with_parent) {
  const pid_t parent = ::getppid();
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  PlayedTree tree = TRY(PlayedTree::open_to_play(directory));
  const Duration first = tree.elapsed();
  TRY_STATUS(tree.write(first));
  tell_changes(tree.simulation(), first - Duration{1}, first);
  tree.let_go();
  for (Duration before = first; stopped == 0 && (!ends_with_parent || ::getppid() == parent);) {
    std::this_thread::sleep_for(kStep);
    const Duration now = tree.elapsed();
    const bool was_moving = tree.simulation().is_moving(before);
    const bool is_new = TRY(tree.take_over(now));
    if (is_new || was_moving || has_changes(tree.simulation(), before, now)) TRY_STATUS(tree.write(now));
    // A program that reads this output can read the tree immediately.
    tell_changes(tree.simulation(), before, now);
    before = now;
    tree.let_go();
  }
  return {};
}

}  // namespace

void add_play(CLI::App& app, Status& outcome) {
  auto directory = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("play", "Run the time of a machine tree until a signal");
  verb->add_option("DIR", *directory, "a machine tree")->required();
  auto ends_with_parent = std::make_shared<bool>(false);
  verb->add_flag("--end-with-parent", *ends_with_parent, "also end when the parent process has ended");
  verb->callback([directory, ends_with_parent, &outcome] { outcome = play(*directory, *ends_with_parent); });
}

}  // namespace autopilot::simulator
