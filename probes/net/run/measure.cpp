// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/measure.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>

#include "core/parse.hpp"
#include "probes/net/iperf/program.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {
namespace {

// Limit of lines, one for each stream and second, in the peer's own report.
constexpr int kMostPeerLines = 5000;

bool contains(const std::vector<int>& list, int number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

std::variant<Plan, Failure> path_of(const MeasureOptions& options, const Machine& machine) {
  Plan plan;
  if (options.interface) {
    plan.interface = *options.interface;
    const auto source = address_on(machine.addresses, plan.interface, options.to);
    if (!source)
      return Failure{Reason::no_address, to_printable(plan.interface, 40) +
                                             ": no interface with an address from which " + options.to.text +
                                             " can be reached"};
    plan.address = source->text;
    return plan;
  }
  const std::optional<Address>& source = options.bind ? options.bind : machine.source;
  if (!source) return plan;
  plan.address = source->text;
  const auto interface = interface_of(machine.addresses, *source);
  if (!interface && options.bind)
    return Failure{Reason::no_address, source->text + ": not an address of this machine"};
  plan.interface = interface.value_or("");
  if (options.bind)
    if (auto failure = why_not_over_own(*options.bind, options.to, machine)) return *std::move(failure);
  return plan;
}

ClientTest test_of(const MeasureOptions& options, const Plan& plan, std::size_t index) {
  ClientTest test;
  test.to = options.to.text;
  test.port = options.ports.size() > 1 ? options.ports[index] : options.ports[0] + static_cast<int>(index);
  if (options.bind || options.interface) test.source = plan.address;
  test.interface = options.interface;
  test.streams = options.streams;
  test.seconds = options.seconds;
  test.omit_seconds = options.omit_seconds;
  test.sample_seconds = static_cast<double>(options.seconds) / options.samples;
  test.flow = options.flow;
  const int directions = options.flow == Flow::both ? 2 : 1;
  test.wants_peer_report =
      options.streams * directions * (options.seconds + options.omit_seconds) <= kMostPeerLines;
  if (options.bits_per_second)
    test.stream_bits_per_second =
        *options.bits_per_second / static_cast<std::uint64_t>(options.streams * options.processes);
  return test;
}

}  // namespace

Result<Machine> read_machine(const std::optional<Address>& peer) {
  Machine machine;
  machine.addresses = TRY(read_interface_addresses());
  machine.processors = read_allowed_processors();
  if (!peer) return machine;
  // Without a route, libiperf reports the error.
  if (auto source = read_source_towards(*peer)) machine.source = std::move(*source);
  return machine;
}

std::optional<Failure> why_not_over_own(const Address& from, const Address& to, const Machine& machine) {
  if (interface_of(machine.addresses, to)) return std::nullopt;
  for (const InterfaceAddress& own : machine.addresses) {
    if (!is_same_address(own.address, from) || !is_neighbour(own, to)) continue;
    const auto used = interface_towards(from, to);
    if (!used || *used == own.interface) return std::nullopt;
    return Failure{Reason::no_route, "from " + from.text + " of " + own.interface + " the kernel sends to " +
                                         to.text + " by " + *used +
                                         ": both are in the same subnet, and no routing rule selects one"};
  }
  return std::nullopt;
}

std::variant<Placement, Failure> place(const Pinning& pinning, int processes, const std::string& interface,
                                       const Machine& machine) {
  Placement placement;
  placement.processors.resize(static_cast<std::size_t>(processes));
  for (std::size_t i = 0; i < placement.processors.size() && !pinning.processors.empty(); ++i) {
    const int processor = pinning.processors[i % pinning.processors.size()];
    if (!contains(machine.processors, processor))
      return Failure{Reason::denied,
                     "processor " + std::to_string(processor) + ": this process is not allowed to run on it"};
    placement.processors[i] = {processor};
  }
  if (!pinning.is_near_interface) return placement;
  const auto near = read_locality(interface, machine.sysfs);
  if (!near) return placement;
  placement.numa_node = near->numa_node;
  std::vector<int> usable;
  std::copy_if(near->processors.begin(), near->processors.end(), std::back_inserter(usable),
               [&](int processor) { return contains(machine.processors, processor); });
  std::fill(placement.processors.begin(), placement.processors.end(), usable);
  return placement;
}

std::variant<Plan, Failure> plan_of(const MeasureOptions& options, const Machine& machine) {
  auto path = path_of(options, machine);
  if (std::holds_alternative<Failure>(path)) return path;
  Plan plan = std::get<Plan>(std::move(path));
  auto placed = place(options.pinning, options.processes, plan.interface, machine);
  if (Failure* failure = std::get_if<Failure>(&placed)) return std::move(*failure);
  plan.placement = std::get<Placement>(std::move(placed));
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.processes); ++i)
    plan.tests.push_back(test_of(options, plan, i));
  return plan;
}

namespace {

// For the control messages before and after a test, and for a peer that does not listen for a moment.
constexpr std::chrono::seconds kMargin{8};

Duration time_for(const ClientTest& test) {
  return std::chrono::seconds(test.connect_seconds + test.omit_seconds + test.seconds) + kMargin;
}

std::string place_of(const ClientTest& test) {
  return test.to + " port " + std::to_string(test.port);
}

Failure failure_of_end(const ChildEnd& end, const ClientTest& test) {
  const std::string place = place_of(test);
  if (end.was_overdue)
    return {Reason::no_end, place + ": no end after " + format_duration(time_for(test)) +
                                "; the peer accepted the connection and then sent nothing"};
  if (end.had_too_much_output)
    return {Reason::garbage,
            place + ": a report of more than " + std::to_string(kMostOutputBytes) + " bytes"};
  if (end.signal)
    return {Reason::killed,
            place + ": the measuring process was ended by signal " + std::to_string(*end.signal)};
  return {Reason::internal,
          place + ": libiperf ended its process with code " + std::to_string(end.code.value_or(-1))};
}

void keep_whole_samples(std::optional<Direction>& direction, double sample_seconds) {
  if (direction) direction->samples = whole_samples(direction->samples, sample_seconds);
}

void take_end(ProcessReport& process, const ChildEnd& end, const std::string& output,
              const ClientTest& test) {
  if (end.was_overdue || end.had_too_much_output || end.code != 0) {
    process.failure = failure_of_end(end, test);
    return;
  }
  auto read = read_client_output(output, place_of(test));
  if (Failure* failure = std::get_if<Failure>(&read)) {
    process.failure = std::move(*failure);
    return;
  }
  IperfResult result = std::get<IperfResult>(std::move(read));
  keep_whole_samples(result.to_peer, test.sample_seconds);
  keep_whole_samples(result.from_peer, test.sample_seconds);
  process.measured = std::move(result);
}

MeasureReport report_of(const MeasureOptions& options, const Plan& plan) {
  MeasureReport report{.began = std::chrono::system_clock::now(),
                       .options = options,
                       .address = plan.address,
                       .interface = plan.interface,
                       .numa_node = plan.placement.numa_node,
                       .processes = {}};
  for (std::size_t i = 0; i < plan.tests.size(); ++i)
    report.processes.push_back({.port = plan.tests[i].port,
                                .processors = plan.placement.processors[i],
                                .measured = {},
                                .failure = {}});
  return report;
}

// Waits until all have ended, or a signal arrives: returns its number.
int follow(Crew& crew, const std::vector<std::size_t>& children, const Plan& plan, MeasureReport& report) {
  while (crew.is_anybody_running()) {
    const Event event = crew.wait(MonoTime::max());
    if (event.kind == Event::Kind::signal) return event.signal;
    if (event.kind != Event::Kind::ended) continue;
    const auto index =
        static_cast<std::size_t>(std::find(children.begin(), children.end(), event.child) - children.begin());
    ProcessReport& process = report.processes[index];
    take_end(process, crew.end(event.child), crew.output(event.child), plan.tests[index]);
    std::cerr << "autopilot-net-probe: " << place_of(plan.tests[index]) << ": "
              << (process.failure ? to_string(process.failure->reason) : "measured") << "\n";
  }
  return 0;
}

void stop(MeasureReport& report, int signal) {
  report.stopped = true;
  for (ProcessReport& process : report.processes)
    if (!process.measured && !process.failure)
      process.failure =
          Failure{Reason::killed, std::string("stopped by ") + ::strsignal(signal) + " before the end"};
}

}  // namespace

MeasureReport run_plan(const MeasureOptions& options, const Plan& plan, const Client& client, int& signal) {
  MeasureReport report = report_of(options, plan);
  const auto crew = Crew::create();
  const auto line = StartLine::create();
  if (!crew || !line) {
    report.failure = Failure{Reason::internal, (!crew ? crew.error() : line.error()).what};
    return report;
  }
  std::vector<std::size_t> children;
  for (std::size_t i = 0; i < plan.tests.size(); ++i) {
    const ClientTest& test = plan.tests[i];
    const std::vector<int>& processors = plan.placement.processors[i];
    const auto child = (*crew)->start(
        [&](int output) {
          if (!processors.empty() && !run_only_on(processors)) return;
          client(test, **line, output);
        },
        mono_now() + time_for(test));
    if (!child) {
      report.failure = Failure{Reason::internal, child.error().what};
      return report;
    }
    children.push_back(*child);
  }
  (*line)->step_aside();
  signal = follow(**crew, children, plan, report);
  if (signal != 0) stop(report, signal);
  return report;
}

int measure(const MeasureOptions& options, const Client& client) {
  const auto machine = read_machine(options.to);
  int signal = 0;
  MeasureReport report{.began = std::chrono::system_clock::now(),
                       .options = options,
                       .address = {},
                       .interface = {},
                       .processes = {}};
  if (!machine) {
    report.failure = Failure{Reason::internal, machine.error().what};
  } else {
    const auto plan = plan_of(options, *machine);
    if (const Failure* failure = std::get_if<Failure>(&plan))
      report.failure = *failure;
    else
      report = run_plan(options, std::get<Plan>(plan), client, signal);
  }
  std::cout << to_json(report) << std::endl;
  return signal != 0 ? exit_signal + signal : exit_code_of(report);
}

}  // namespace autopilot::probes::net
