// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/net/machine/interfaces.hpp"
#include "probes/net/machine/listeners.hpp"
#include "probes/net/perftest/perftest.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {
namespace {

// An installed perftest program.
struct PerftestProgram {
  std::string file;
  std::optional<SourceOption> source_option{};  // the option of this version
  bool has_cuda = false;
};

constexpr std::chrono::seconds kPatience{5};
constexpr const char* kHelp = "--help";

// The exit code has no meaning: with some versions even help is an error.
std::optional<Failure> failure_in(const ChildEnd& end, const std::string& place) {
  if (end.was_overdue)
    return Failure{Reason::timed_out, place + ": no end after " + format_duration(kPatience)};
  if (end.had_too_much_output) return Failure{Reason::garbage, place + ": too much output"};
  if (end.signal) return Failure{Reason::killed, place + ": ended by signal " + std::to_string(*end.signal)};
  return std::nullopt;
}

// Finds it and runs it with its help option. A signal that arrives meanwhile is stored in `signal`.
std::variant<PerftestProgram, Failure> read_program(Crew& crew, Tool tool, int& signal) {
  const std::string name(program_of(tool));
  const auto file = find_program(name);
  if (!file) return failure_without_program(tool);
  const auto child = crew.start(work_of_program(*file, {name, kHelp}), mono_now() + kPatience);
  if (!child) return Failure{Reason::internal, child.error().what};
  while (crew.is_running(*child)) {
    const Event event = crew.wait(MonoTime::max());
    if (event.kind != Event::Kind::signal) continue;
    signal = event.signal;
    return Failure{Reason::killed, name + ": stopped by a signal"};
  }
  if (auto failure = failure_in(crew.end(*child), name + " " + kHelp)) return std::move(*failure);
  const std::string& help = crew.output(*child);
  return PerftestProgram{*file, source_option_in(help), has_cuda_in(help)};
}

// Time until the last one listens.
constexpr std::chrono::seconds kRdmaSettling{10};
constexpr std::chrono::milliseconds kPollInterval{20};

// Servers of perftest, each on a free port. Each serves one test and ends.
class RdmaServers {
 public:
  // Tests without address and port, which are chosen here. At `end` all are killed.
  RdmaServers(Crew& crew, Address bind, const std::vector<PerftestTest>& tests, MonoTime end);

  // Starts them, and waits until all listen or have failed. Returns the number of a signal that arrived.
  [[nodiscard]] int settle();
  // Waits until the time is over or all have ended. Returns the number of a signal that arrived.
  [[nodiscard]] int follow();

  [[nodiscard]] std::vector<ServerReport> reports() const;
  // True if a server did not listen, or did not finish its test.
  [[nodiscard]] bool has_failed() const;

 private:
  struct Slot {
    PerftestTest test;
    std::variant<PerftestProgram, Failure> program{};
    std::optional<std::size_t> child{};
    bool is_listening = false;
    std::optional<Failure> failure{};
  };

  [[nodiscard]] static bool is_settled(const Slot& slot) { return slot.is_listening || slot.failure; }
  [[nodiscard]] bool all_settled() const;
  [[nodiscard]] Result<int> free_port();
  [[nodiscard]] int ask(Slot& slot);
  void start_on_next_port(Slot& slot);
  void check_listening();
  void take(const Event& event);
  void give_up(Slot& slot, Failure failure);

  Crew& crew_;
  Address bind_;
  Ports ports_;
  MonoTime end_;
  std::vector<Slot> slots_;
};

RdmaServers::RdmaServers(Crew& crew, Address bind, const std::vector<PerftestTest>& tests, MonoTime end)
    : crew_(crew),
      bind_(std::move(bind)),
      ports_({.first = 0, .last = {}}, static_cast<int>(tests.size())),
      end_(end) {
  for (const PerftestTest& test : tests) {
    slots_.push_back({.test = test});
    slots_.back().test.address = bind_.text;
  }
}

int RdmaServers::settle() {
  for (Slot& slot : slots_)
    if (const int signal = ask(slot); signal != 0) return signal;
  for (Slot& slot : slots_)
    start_on_next_port(slot);
  const MonoTime end = std::min(end_, mono_now() + kRdmaSettling);
  for (check_listening(); !all_settled() && mono_now() < end; check_listening()) {
    const Event event = crew_.wait(std::min(end, mono_now() + kPollInterval));
    if (event.kind == Event::Kind::signal) return event.signal;
    take(event);
  }
  for (Slot& slot : slots_)
    if (!is_settled(slot))
      give_up(slot, failure_at(slot.test, Reason::timed_out, "the server did not start to listen"));
  return 0;
}

int RdmaServers::follow() {
  while (crew_.is_anybody_running()) {
    const Event event = crew_.wait(end_);
    if (event.kind == Event::Kind::signal) return event.signal;
    if (event.kind == Event::Kind::time) return 0;
    take(event);
  }
  return 0;
}

std::vector<ServerReport> RdmaServers::reports() const {
  std::vector<ServerReport> reports;
  for (const Slot& slot : slots_)
    reports.push_back({.port = slot.test.port, .failure = slot.failure});
  return reports;
}

bool RdmaServers::has_failed() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.failure.has_value(); });
}

bool RdmaServers::all_settled() const {
  return std::all_of(slots_.begin(), slots_.end(), is_settled);
}

// The kernel can return a port again on which no program listens yet.
Result<int> RdmaServers::free_port() {
  while (true) {
    const int port = TRY(ports_.next(bind_));
    const auto has_it = [port](const Slot& slot) { return slot.test.port == port; };
    if (std::none_of(slots_.begin(), slots_.end(), has_it)) return port;
  }
}

// Before any server starts, so that no other end is waited for here.
int RdmaServers::ask(Slot& slot) {
  int signal = 0;
  slot.program = read_program(crew_, slot.test.tool, signal);
  return signal;
}

void RdmaServers::start_on_next_port(Slot& slot) {
  const auto port = free_port();
  if (!port) {
    const bool is_none_left = port.error().code == Errc::exhausted;
    return give_up(slot, failure_at(slot.test, is_none_left ? Reason::port_taken : Reason::no_address,
                                    port.error().what));
  }
  slot.test.port = *port;
  if (const Failure* failure = std::get_if<Failure>(&slot.program)) return give_up(slot, *failure);
  const PerftestProgram& program = std::get<PerftestProgram>(slot.program);
  slot.test.source_option = program.source_option;
  if (!program.source_option)
    return give_up(
        slot, failure_at(slot.test, Reason::wrong_version,
                         "this version has no option for the listening address, and would listen at every "
                         "address"));
  if (auto failure = failure_without_cuda(slot.test, program.has_cuda))
    return give_up(slot, *std::move(failure));
  const auto child = crew_.start(work_of_program(program.file, perftest_arguments(slot.test)), end_);
  if (child)
    slot.child = *child;
  else
    give_up(slot, failure_at(slot.test, Reason::internal, child.error().what));
}

void RdmaServers::check_listening() {
  if (all_settled()) return;
  const auto listeners = read_listeners();
  for (Slot& slot : slots_) {
    if (is_settled(slot)) continue;
    if (!listeners)
      give_up(slot, failure_at(slot.test, Reason::internal, listeners.error().what));
    else
      slot.is_listening = is_listened_at(*listeners, bind_, slot.test.port);
  }
}

void RdmaServers::take(const Event& event) {
  if (event.kind != Event::Kind::ended) return;
  const auto slot =
      std::find_if(slots_.begin(), slots_.end(), [&](const Slot& one) { return one.child == event.child; });
  if (slot == slots_.end()) return;
  slot->child.reset();
  const ChildEnd& end = crew_.end(event.child);
  if (slot->failure || (slot->is_listening && (end.code == 0 || mono_now() >= end_))) return;
  Failure failure = failure_of_end(slot->test, end, crew_.output(event.child));
  // Another program took the port first.
  if (failure.reason == Reason::port_taken) {
    slot->is_listening = false;
    return start_on_next_port(*slot);
  }
  give_up(*slot, std::move(failure));
}

void RdmaServers::give_up(Slot& slot, Failure failure) {
  std::cerr << "autopilot-net-probe: " << failure.text << "\n";
  slot.failure = std::move(failure);
  if (slot.child) crew_.kill(*slot.child);
}

std::vector<PerftestTest> tests_of(const RdmaServeOptions& options) {
  std::vector<PerftestTest> tests;
  for (const Tool tool : kTools)
    tests.push_back({.tool = tool,
                     .device = options.device,
                     .address = options.bind.text,
                     .seconds = options.test_seconds,
                     .queues = options.queues});
  return tests;
}

int refuse(RdmaServeReport report, const Error& error) {
  report.servers.assign(kTools.size(), {.port = 0, .failure = Failure{Reason::internal, error.what}});
  std::cout << to_json(report) << std::endl;
  return exit_not_measured;
}

}  // namespace

int rdma_serve(const RdmaServeOptions& options) {
  RdmaServeReport report{.began = std::chrono::system_clock::now(), .options = options, .servers = {}};
  const MonoTime end = mono_now() + std::chrono::seconds(options.seconds);
  const auto crew = Crew::create();
  if (!crew) return refuse(std::move(report), crew.error());
  RdmaServers servers(**crew, options.bind, tests_of(options), end);
  int signal = servers.settle();
  report.servers = servers.reports();
  if (signal == 0) {
    std::cout << to_json(report) << std::endl;
    signal = servers.follow();
  }
  (*crew)->end_all();
  if (signal != 0) return exit_signal + signal;
  return servers.has_failed() ? exit_not_measured : exit_done;
}

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
    auto found = read_program(crew_, test.tool, signal);
    if (signal != 0)
      stop(signal);
    else if (Failure* failure = std::get_if<Failure>(&found))
      report_.failure = std::move(*failure);
    if (report_.failure) return std::nullopt;
    const PerftestProgram& program = std::get<PerftestProgram>(found);
    test.source_option = program.source_option;
    report_.failure = failure_without_cuda(test, program.has_cuda);
    if (report_.failure) return std::nullopt;
    return try_until_it_listens(test, program.file);
  }

  // The peer's servers can start late.
  std::optional<std::string> try_until_it_listens(const PerftestTest& test, const std::string& file) {
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

int write_report(const RdmaMeasureReport& report, int signal) {
  std::cout << to_json(report) << std::endl;
  if (signal != 0) return exit_signal + signal;
  return report.failure ? exit_not_measured : exit_done;
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
  return write_report(report, signal);
}

int rdma_loopback(const RdmaLoopbackOptions& options) {
  int signal = 0;
  RdmaMeasureOptions both{
      .to = {}, .bind = {}, .device = options.device, .seconds = options.seconds, .queues = options.queues};
  both.bind = both.to = *parse_address(kLoopback);
  const RdmaMeasureReport report = run_loopback(both, signal);
  return write_report(report, signal);
}

}  // namespace autopilot::probes::net
