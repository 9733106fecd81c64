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
  std::string base;                   // settings that the configuration file overrides; see load_settings
  std::vector<std::string> not_used;  // accepted flags and variables without effect: reported once
};

// Runs the agent until SIGTERM. Returns the exit code.
[[nodiscard]] int run_agent_verb(const AgentVerbOptions& options);

}  // namespace autopilot::cli
