// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "probes/net/iperf/reason.hpp"
#include "probes/net/perftest/arguments.hpp"
#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// An installed perftest program.
struct PerftestProgram {
  std::string file;
  std::optional<SourceOption> source_option{};  // the option of this version
  bool has_cuda = false;
};

// Finds it and runs it with its help option. A signal that arrives meanwhile is stored in `signal`.
[[nodiscard]] std::variant<PerftestProgram, Failure> ask_program(Crew& crew, Tool tool, int& signal);

}  // namespace autopilot::probes::net
