// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/serve.hpp"

#include <algorithm>
#include <iostream>

#include "probes/net/iperf/program.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/machine/listeners.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/measure.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {
namespace {

// Time until the last one listens.
constexpr std::chrono::seconds kSettling{20};
// Limit for one server whose process ends unexpectedly.
constexpr int kMostRestarts = 10;

// One server: its entry in the report, and its current process.
struct Slot {
  ServerReport report;
  std::vector<int> processors;
  std::optional<std::size_t> child{};
  bool is_listening = false;
  int restarts = 0;
  std::size_t tests = 0;  // of ended processes
};

class Service {
 public:
  Service(const ServeOptions& options, const Server& server, const Placement& placement, Crew& crew)
      : options_(options), server_(server), crew_(crew), ports_(options.ports, options.count) {
    for (const std::vector<int>& processors : placement.processors)
      slots_.push_back({.report = {}, .processors = processors});
    for (Slot& slot : slots_)
      start_on_next_port(slot);
  }

  // Waits until all listen or have failed. Returns the number of a signal that arrived.
  [[nodiscard]] int settle() {
    const MonoTime end = std::min(end_, mono_now() + kSettling);
    while (!all_settled()) {
      const Event event = crew_.wait(end);
      if (event.kind == Event::Kind::signal) return event.signal;
      if (event.kind == Event::Kind::time) break;
      take(event);
    }
    for (Slot& slot : slots_)
      if (!is_settled(slot))
        give_up(slot, {Reason::timed_out, place_of(slot) + ": the server did not start to listen"});
    return 0;
  }

  // Waits until the time is over or all have ended.
  [[nodiscard]] int follow() {
    while (crew_.is_anybody_running()) {
      const Event event = crew_.wait(end_);
      if (event.kind == Event::Kind::signal) return event.signal;
      if (event.kind == Event::Kind::time) return 0;
      take(event);
    }
    return 0;
  }

  [[nodiscard]] std::vector<ServerReport> reports() const {
    std::vector<ServerReport> reports;
    for (const Slot& slot : slots_)
      reports.push_back(slot.report);
    return reports;
  }

  [[nodiscard]] bool has_failed() const {
    return std::any_of(slots_.begin(), slots_.end(),
                       [](const Slot& slot) { return slot.report.failure.has_value(); });
  }

  void write_report() const {
    for (const Slot& slot : slots_)
      std::cerr << "autopilot-net-probe: " << place_of(slot) << ": finished tests: " << tests_of(slot)
                << "\n";
  }

 private:
  [[nodiscard]] std::string place_of(const Slot& slot) const {
    return options_.bind.text + " port " + std::to_string(slot.report.port);
  }

  [[nodiscard]] std::size_t tests_of(const Slot& slot) const {
    return slot.tests + (slot.child ? read_server_output(crew_.output(*slot.child)).tests : 0);
  }

  [[nodiscard]] static bool is_settled(const Slot& slot) { return slot.is_listening || slot.report.failure; }
  [[nodiscard]] bool all_settled() const { return std::all_of(slots_.begin(), slots_.end(), is_settled); }

  void start_on_next_port(Slot& slot) {
    const auto port = ports_.next(options_.bind);
    if (!port) {
      // The reason of the last attempt is known already.
      if (!slot.report.failure)
        slot.report.failure = Failure{reason_without_port(port.error()), port.error().what};
      return;
    }
    slot.report = {.port = *port, .failure = {}};
    start(slot);
  }

  [[nodiscard]] static Reason reason_without_port(const Error& error) {
    return error.code == Errc::exhausted ? Reason::port_taken : Reason::no_address;
  }

  void start(Slot& slot) {
    const ServerTest test{.address = options_.bind.text,
                          .port = slot.report.port,
                          .allowed = options_.allowed,
                          .is_once = options_.is_once};
    const auto child = crew_.start(
        [&](int output) {
          if (!slot.processors.empty() && !run_only_on(slot.processors)) return;
          server_(test, output);
        },
        end_);
    if (child)
      slot.child = *child;
    else
      slot.report.failure = Failure{Reason::internal, child.error().what};
  }

  void give_up(Slot& slot, Failure failure) {
    std::cerr << "autopilot-net-probe: " << failure.text << "\n";
    slot.report.failure = std::move(failure);
    if (slot.child) crew_.kill(*slot.child);
  }

  void take(const Event& event) {
    const auto slot =
        std::find_if(slots_.begin(), slots_.end(), [&](const Slot& one) { return one.child == event.child; });
    if (slot == slots_.end()) return;
    const ServerState state = read_server_output(crew_.output(event.child));
    slot->is_listening = slot->is_listening || state.is_listening;
    if (event.kind != Event::Kind::ended) return;
    slot->tests += state.tests;
    slot->child.reset();
    if (slot->report.failure || (options_.is_once && state.tests > 0)) return;
    if (state.failure)
      take_failure(*slot, *state.failure);
    else
      take_early_end(*slot, crew_.end(event.child));
  }

  void take_failure(Slot& slot, const IperfError& error) {
    const Failure failure = failure_of(error, place_of(slot));
    if (failure.reason == Reason::port_taken && options_.ports.has_choice() && !slot.is_listening) {
      slot.report.failure = failure;
      start_on_next_port(slot);
    } else {
      give_up(slot, failure);
    }
  }

  // A crash, or a kill from outside.
  void take_early_end(Slot& slot, const ChildEnd& end) {
    const std::string how = end.signal ? "signal " + std::to_string(*end.signal)
                                       : "code " + std::to_string(end.code.value_or(-1));
    if (mono_now() >= end_) return;
    if (slot.restarts++ < kMostRestarts) {
      std::cerr << "autopilot-net-probe: " << place_of(slot) << ": the server's process ended with " << how
                << "; a new one starts\n";
      start(slot);
    } else {
      give_up(slot, {end.signal ? Reason::killed : Reason::internal,
                     place_of(slot) + ": the server's process ended repeatedly, with " + how});
    }
  }

  const ServeOptions& options_;
  const Server& server_;
  Crew& crew_;
  Ports ports_;
  const MonoTime end_ = mono_now() + std::chrono::seconds(options_.seconds);
  std::vector<Slot> slots_;
};

std::variant<Placement, Failure> placement_of(const ServeOptions& options) {
  const auto machine = read_machine(std::nullopt);
  if (!machine) return Failure{Reason::internal, machine.error().what};
  for (const Address& peer : options.allowed)
    if (auto failure = why_not_over_own(options.bind, peer, *machine)) return *std::move(failure);
  const std::string interface = interface_of(machine->addresses, options.bind).value_or("");
  return place(options.pinning, options.count, interface, *machine);
}

int refuse(ServeReport report, const Failure& failure) {
  report.servers.assign(static_cast<std::size_t>(report.options.count), {.port = 0, .failure = failure});
  std::cout << to_json(report) << std::endl;
  return exit_not_measured;
}

}  // namespace

int serve(const ServeOptions& options, const Server& server) {
  ServeReport report{.began = std::chrono::system_clock::now(), .options = options, .servers = {}};
  const auto placed = placement_of(options);
  if (const Failure* failure = std::get_if<Failure>(&placed)) return refuse(std::move(report), *failure);
  const Placement& placement = std::get<Placement>(placed);
  const auto crew = Crew::create();
  if (!crew) return refuse(std::move(report), {Reason::internal, crew.error().what});
  Service service(options, server, placement, **crew);
  int signal = service.settle();
  report.numa_node = placement.numa_node;
  report.servers = service.reports();
  if (signal == 0) {
    std::cout << to_json(report) << std::endl;
    signal = service.follow();
  }
  (*crew)->end_all();
  service.write_report();
  if (signal != 0) return exit_signal + signal;
  return service.has_failed() ? exit_not_measured : exit_done;
}

}  // namespace autopilot::probes::net
