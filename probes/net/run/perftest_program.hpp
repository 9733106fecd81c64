// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "probes/net/iperf/reason.hpp"
#include "probes/net/perftest/arguments.hpp"
#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// A program of perftest of this machine.
struct PerftestProgram {
  std::string file;
  std::optional<SourceOption> source_option{};  // as this version has it
  bool has_cuda = false;
};

// Finds it, and asks it for its help. A signal that came meanwhile is left in `signal`.
[[nodiscard]] std::variant<PerftestProgram, Failure> ask_program(Crew& crew, Tool tool, int& signal);

}  // namespace autopilot::probes::net
