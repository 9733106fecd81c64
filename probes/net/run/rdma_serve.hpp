// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/net/iperf/result.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/machine/listeners.hpp"
#include "probes/net/perftest/arguments.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/options.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

// An installed perftest program.
struct PerftestProgram {
  std::string file;
  std::optional<SourceOption> source_option{};  // the option of this version
  bool has_cuda = false;
};

// Finds it and runs it with its help option. A signal that arrives meanwhile is stored in `signal`.
[[nodiscard]] std::variant<PerftestProgram, Failure> ask_program(Crew& crew, Tool tool, int& signal);

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
  void look_who_listens();
  void take(const Event& event);
  void give_up(Slot& slot, Failure failure);

  Crew& crew_;
  Address bind_;
  Ports ports_;
  MonoTime end_;
  std::vector<Slot> slots_;
};

// The whole program after option parsing: a server for each perftest program, one line of JSON on standard
// output when all listen or have failed, exit code. It ends after all have served their test, after its time,
// or by SIGTERM, SIGINT or SIGHUP, and stops all servers.
[[nodiscard]] int rdma_serve(const RdmaServeOptions& options);

}  // namespace autopilot::probes::net
