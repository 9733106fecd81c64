// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma_measure.hpp"

#include <cstring>
#include <iostream>

#include "probes/net/machine/interfaces.hpp"
#include "probes/net/perftest/result.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/rdma_serve.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr const char* kLoopback = "127.0.0.1";

Duration duration_of(const PerftestTest& test) {
  const int seconds = test.tool == Tool::send_latency ? 0 : test.seconds + 2 * kMarginSeconds;
  return std::chrono::seconds(seconds);
}

// Runs tests one after the other, as long as they succeed.
class RdmaRun {
 public:
  RdmaRun(Crew& crew, const RdmaPatience& patience, RdmaMeasureReport& report)
      : crew_(crew), patience_(patience), report_(report) {}

  void measure_bandwidth(Tool tool, int port, std::optional<double>& measured) {
    measure(tool, port, parse_perftest_bandwidth, measured);
  }

  void measure_latency(int port) {
    measure(Tool::send_latency, port, parse_perftest_latency, report_.latency);
  }

  // The number of the signal that ended it.
  [[nodiscard]] int signal() const { return signal_; }

  void stop(int signal) {
    signal_ = signal;
    report_.stopped = true;
    report_.failure =
        Failure{Reason::killed, std::string("stopped by ") + ::strsignal(signal) + " before the end"};
  }

 private:
  template <class T>
  void measure(Tool tool, int port, Result<T> (*parse)(std::string_view), std::optional<T>& measured) {
    if (report_.failure) return;
    const RdmaMeasureOptions& options = report_.options;
    PerftestTest test{.tool = tool,
                      .device = options.device,
                      .address = options.bind.text,
                      .to = options.to.text,
                      .port = port,
                      .seconds = options.seconds,
                      .queues = options.queues,
                      .bits_per_second = options.bits_per_second};
    const auto output = output_of(test);
    if (!output) return;
    if (auto figures = parse(*output))
      measured = *figures;
    else
      report_.failure = failure_of_figures(test, figures.error());
    std::cerr << "autopilot-net-probe: " << place_of(test) << ": "
              << (report_.failure ? to_string(report_.failure->reason) : "measured") << "\n";
  }

  // The output of a program that succeeded.
  std::optional<std::string> output_of(PerftestTest& test) {
    int signal = 0;
    auto asked = ask_program(crew_, test.tool, signal);
    if (signal != 0)
      stop(signal);
    else if (Failure* failure = std::get_if<Failure>(&asked))
      report_.failure = std::move(*failure);
    if (report_.failure) return std::nullopt;
    const PerftestProgram& program = std::get<PerftestProgram>(asked);
    test.source_option = program.source_option;
    report_.failure = failure_without_cuda(test, program.has_cuda);
    if (report_.failure) return std::nullopt;
    return try_until_heard(test, program.file);
  }

  // The peer's servers can start late.
  std::optional<std::string> try_until_heard(const PerftestTest& test, const std::string& file) {
    const MonoTime end = mono_now() + patience_.connecting;
    while (true) {
      const auto child = try_once(test, file);
      if (!child) return std::nullopt;
      if (crew_.end(*child).code == 0) return crew_.output(*child);
      Failure failure = failure_of_end(test, crew_.end(*child), crew_.output(*child));
      if (failure.reason == Reason::refused && mono_now() + kPause < end) {
        if (!pause()) return std::nullopt;
        continue;
      }
      std::cerr << "autopilot-net-probe: " << failure.text << "\n";
      report_.failure = std::move(failure);
      return std::nullopt;
    }
  }

  // Runs one child to its end.
  std::optional<std::size_t> try_once(const PerftestTest& test, const std::string& file) {
    const auto child = crew_.start(work_of_program(file, perftest_arguments(test)),
                                   mono_now() + duration_of(test) + patience_.rest);
    if (!child) {
      report_.failure = failure_at(test, Reason::internal, child.error().what);
      return std::nullopt;
    }
    while (crew_.is_running(*child))
      if (!follow(MonoTime::max())) return std::nullopt;
    return *child;
  }

  [[nodiscard]] bool pause() {
    const MonoTime end = mono_now() + kPause;
    while (mono_now() < end)
      if (!follow(end)) return false;
    return true;
  }

  // False: a signal arrived.
  [[nodiscard]] bool follow(MonoTime until) {
    const Event event = crew_.wait(until);
    if (event.kind == Event::Kind::signal) stop(event.signal);
    return event.kind != Event::Kind::signal;
  }

  Crew& crew_;
  const RdmaPatience& patience_;
  RdmaMeasureReport& report_;
  int signal_ = 0;
};

std::optional<Failure> failure_of_address(const Address& bind) {
  const auto known = read_interface_addresses();
  if (!known) return Failure{Reason::internal, known.error().what};
  if (interface_of(*known, bind)) return std::nullopt;
  return Failure{Reason::no_address, bind.text + ": not an address of this machine"};
}

RdmaMeasureReport report_of(const RdmaMeasureOptions& options) {
  return {.began = std::chrono::system_clock::now(), .options = options};
}

RdmaMeasureReport run_loopback(const RdmaMeasureOptions& options, int& signal) {
  const RdmaPatience patience;
  RdmaMeasureReport report = report_of(options);
  const auto crew = Crew::create();
  if (!crew) {
    report.failure = Failure{Reason::internal, crew.error().what};
    return report;
  }
  const PerftestTest server{.tool = Tool::write_bandwidth,
                            .device = options.device,
                            .address = options.bind.text,
                            .seconds = options.seconds,
                            .queues = options.queues};
  const MonoTime end = mono_now() + duration_of(server) + 2 * (patience.connecting + patience.rest);
  RdmaServers servers(**crew, options.bind, {server}, end);
  RdmaRun run(**crew, patience, report);
  if (const int number = servers.settle(); number != 0) run.stop(number);
  const ServerReport listening = servers.reports().front();
  if (!report.failure) report.failure = listening.failure;
  run.measure_bandwidth(server.tool, listening.port, report.to_peer);
  signal = run.signal();
  return report;
}

int tell(const RdmaMeasureReport& report, int signal) {
  std::cout << to_json(report) << std::endl;
  if (signal != 0) return exit_signal + signal;
  return report.failure ? exit_not_looked : exit_done;
}

}  // namespace

RdmaMeasureReport run_rdma(const RdmaMeasureOptions& options, const RdmaPatience& patience, int& signal) {
  RdmaMeasureReport report = report_of(options);
  report.failure = failure_of_address(options.bind);
  if (report.failure) return report;
  const auto crew = Crew::create();
  if (!crew) {
    report.failure = Failure{Reason::internal, crew.error().what};
    return report;
  }
  RdmaRun run(**crew, patience, report);
  run.measure_bandwidth(Tool::write_bandwidth, options.ports[0], report.to_peer);
  run.measure_bandwidth(Tool::read_bandwidth, options.ports[1], report.from_peer);
  run.measure_latency(options.ports[2]);
  signal = run.signal();
  return report;
}

int rdma_measure(const RdmaMeasureOptions& options) {
  int signal = 0;
  const RdmaMeasureReport report = run_rdma(options, {}, signal);
  return tell(report, signal);
}

int rdma_loopback(const RdmaLoopbackOptions& options) {
  int signal = 0;
  RdmaMeasureOptions both{
      .to = {}, .bind = {}, .device = options.device, .seconds = options.seconds, .queues = options.queues};
  both.bind = both.to = *parse_address(kLoopback);
  const RdmaMeasureReport report = run_loopback(both, signal);
  return tell(report, signal);
}

}  // namespace autopilot::probes::net
