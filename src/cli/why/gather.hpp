// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cli/open_machine.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "why/report.hpp"

namespace autopilot::cli {

struct WhyRequest {
  MachineChoice machine;
  std::string target;    // as find_target takes it; empty: the machine
  std::string since;     // as parse_moment takes it; empty: kWhyWindow, for a program everything
  std::string log_file;  // that the program wrote; empty: none
  std::string config_file;
  std::string socket;     // of an agent; empty: where an agent of this machine listens
  bool no_agent = false;  // run the checks in this process
};

inline constexpr Duration kWhyWindow = std::chrono::hours{24};

// Reads every source that this process may read, and explains what it found. Each source that could not be
// read is in the report, except `log_file`: its error is returned. malformed: the configuration, the machine
// tree or --socket is not valid. Blocks for seconds: the checks run.
[[nodiscard]] Result<why::Report> gather(const WhyRequest& request);

}  // namespace autopilot::cli
