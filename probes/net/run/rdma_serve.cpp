// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/rdma_serve.hpp"

#include <algorithm>
#include <iostream>

#include "probes/net/machine/listeners.hpp"
#include "probes/net/perftest/result.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr const char* kHelp = "--help";

// The exit code has no meaning: with some versions even help is an error.
std::optional<Failure> failure_in(const ChildEnd& end, const std::string& place) {
  if (end.was_overdue)
    return Failure{Reason::timed_out, place + ": no end after " + format_duration(kPatience)};
  if (end.said_too_much) return Failure{Reason::garbage, place + ": too much output"};
  if (end.signal) return Failure{Reason::killed, place + ": ended by signal " + std::to_string(*end.signal)};
  return std::nullopt;
}

}  // namespace

std::variant<PerftestProgram, Failure> ask_program(Crew& crew, Tool tool, int& signal) {
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

namespace {

// Time until the last one listens.
constexpr std::chrono::seconds kRdmaSettling{10};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

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
  for (look_who_listens(); !all_settled() && mono_now() < end; look_who_listens()) {
    const Event event = crew_.wait(std::min(end, mono_now() + kBetweenLooks));
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
  slot.program = ask_program(crew_, slot.test.tool, signal);
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

void RdmaServers::look_who_listens() {
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

namespace {

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
  return exit_not_looked;
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
  return servers.has_failed() ? exit_not_looked : exit_done;
}

}  // namespace autopilot::probes::net
