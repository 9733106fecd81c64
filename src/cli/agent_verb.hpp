// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/machine.hpp"

namespace autopilot::cli {

struct AgentVerbOptions {
  std::optional<std::string> listen;
  std::string config_file;
  MachineChoice machine;
  bool allow_simulated = false;
  std::string base;                   // settings that lie below the configuration file; see load_settings
  std::vector<std::string> not_used;  // what was said and changes nothing: told once
};

// Runs the agent until it is told to end. Gives the exit code.
[[nodiscard]] int run_agent_verb(const AgentVerbOptions& options);

}  // namespace autopilot::cli
