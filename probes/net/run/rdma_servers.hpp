// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "probes/net/machine/address.hpp"
#include "probes/net/perftest/arguments.hpp"
#include "probes/net/processes/crew.hpp"
#include "probes/net/run/perftest_program.hpp"
#include "probes/net/run/ports.hpp"
#include "probes/net/run/report.hpp"

namespace autopilot::probes::net {

// Servers of perftest, each on a port that the kernel has free. Each answers one test and ends.
class RdmaServers {
 public:
  // Of each a test whose address and port are not chosen yet. At `end` all are killed.
  RdmaServers(Crew& crew, Address bind, const std::vector<PerftestTest>& tests, MonoTime end);

  // Starts them, until everybody listens or has failed. The number of a signal that came.
  [[nodiscard]] int settle();
  // Until the time is over or nobody is left. The number of a signal that came.
  [[nodiscard]] int follow();

  [[nodiscard]] std::vector<ServerReport> reports() const;
  // Did not listen, or did not come to the end of a test.
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

}  // namespace autopilot::probes::net
