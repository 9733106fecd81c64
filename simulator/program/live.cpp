// SPDX-License-Identifier: Apache-2.0
// The commands that run until they are stopped: play, feed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include "core/parse.hpp"
#include "kernel_log/kmsg.hpp"
#include "program/program.hpp"
#include "scenario/simulation.hpp"

namespace autopilot::simulator {
namespace {

using namespace std::chrono_literals;

constexpr auto kStep = 200ms;

volatile std::sig_atomic_t stopped = 0;

void stop(int) {
  stopped = 1;
}

// Prints the faults that start or end in (from, to].
void print_changes(const Simulation& simulation, Duration from, Duration to) {
  const auto print = [&](Duration when, const Fault& fault, const char* what) {
    if (when <= from || when > to) return;
    std::cout << format_duration(when) << "  " << fault.id << (fault.subject.empty() ? "" : "  ")
              << fault.subject << "  " << what << std::endl;
  };
  for (const Fault& fault : simulation.faults()) {
    print(fault.at, fault, "begins");
    if (fault.until) print(*fault.until, fault, "ends");
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
  print_changes(tree.simulation(), first - Duration{1}, first);
  tree.let_go();
  for (Duration before = first; stopped == 0 && (!ends_with_parent || ::getppid() == parent);) {
    std::this_thread::sleep_for(kStep);
    const Duration now = tree.elapsed();
    const bool was_moving = tree.simulation().is_moving(before);
    const bool is_new = TRY(tree.take_over(now));
    if (is_new || was_moving || has_changes(tree.simulation(), before, now)) TRY_STATUS(tree.write(now));
    // A program that reads this output can read the tree immediately.
    print_changes(tree.simulation(), before, now);
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

namespace {

constexpr int kWarning = 4;  // of the kernel, facility 0

struct FeedOptions {
  std::string directory;
  KmsgServer::Options server;
};

std::uint64_t microseconds_since_boot() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// "<prio>text" or "text", the formats of a write to /dev/kmsg.
void write_line(KmsgServer& server, std::string_view line) {
  int priority = kWarning;
  const auto end = line.substr(0, 8).find('>');
  if (line.starts_with('<') && end != std::string_view::npos) {
    if (const auto number = parse_number<int>(line.substr(1, end - 1)); number && *number >= 0) {
      priority = *number;
      line.remove_prefix(end + 1);
    }
  }
  server.write(priority, microseconds_since_boot(), line);
}

Status feed(const FeedOptions& options) {
  auto tree = TRY(PlayedTree::open(options.directory));
  if (!tree.simulation().live_elapsed({}))
    return fail(Errc::conflict,
                options.directory + ": its clocks do not run; create it with `autopilot-sim create --now`");
  const auto log = tree.simulation().at(tree.elapsed()).log;
  tree.let_go();
  const auto server = TRY(KmsgServer::listen(options.directory + "/kmsg.sock", options.server));
  std::uint64_t written = 0;
  for (const LogRecord& record : log) {
    if (record.lost > 0 || !record.error.empty()) continue;
    server->write(record.priority, static_cast<std::uint64_t>(std::llround(record.seconds * 1e6)),
                  record.text);
    ++written;
  }
  std::cout << written << " records of the boot log; each line of standard input adds one" << std::endl;
  for (std::string line; std::getline(std::cin, line);)
    write_line(*server, line);
  return {};
}

}  // namespace

void add_feed(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<FeedOptions>();
  auto* verb = app.add_subcommand(
      "feed", "Serve the kernel log of a live machine tree, as /dev/kmsg does, until standard input ends");
  verb->add_option("DIR", options->directory, "a machine tree made with --now")->required();
  verb->add_option("--records", options->server.records, "capacity of the ring in records")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option(
      "--per-step", options->server.records_per_step,
      "records that a reader gets at most every 10 ms; overwritten records are lost; 0: unlimited");
  verb->footer(
      "Each line of standard input is one record, '<prio>text' or 'text'. Start it before the agent:\n"
      "  autopilot-sim create hgx-h100-8 --now --out /tmp/machine && autopilot-sim feed /tmp/machine\n"
      "  autopilot agent --root /tmp/machine");
  verb->callback([options, &outcome] { outcome = feed(*options); });
}

}  // namespace autopilot::simulator
