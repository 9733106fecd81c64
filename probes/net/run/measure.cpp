// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/measure.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>

#include "probes/net/iperf/output.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {
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
