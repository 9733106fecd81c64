// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/effective.hpp"

namespace autopilot::cli {

// One problem of the configuration, with what was expected.
struct SettingsProblem {
  std::string file;  // or the variable of the environment
  int line = 0;      // 0: no line, or not of a file
  std::string what;
};

// One file of the configuration, read as the program reads it at its start.
struct CheckedSettings {
  std::string file;         // empty: the controller without --config
  bool is_default = false;  // not named by the caller
  bool exists = false;      // false: the defaults apply
  std::vector<SettingsProblem> problems;
  std::vector<config::EffectiveSetting> settings;  // with the environment; empty if there is a problem
};

// The agent's configuration in `file`, or if empty in its default file, and the log rules that it names. The
// environment is applied to `settings` if it is valid.
[[nodiscard]] CheckedSettings check_agent_settings(const std::string& file);
// The controller's configuration in `file`, or if empty its defaults, and the policy that it names.
[[nodiscard]] CheckedSettings check_controller_settings(const std::string& file);
// Problems of the variables of the environment that the agent reads.
[[nodiscard]] std::vector<SettingsProblem> check_environment();

// Splits a text with one problem in each line, "<file>:<line>: <what>" or "<file>: <what>". Lines that begin
// with none of `files` become problems of the first.
[[nodiscard]] std::vector<SettingsProblem> problems_in(std::string_view text,
                                                       const std::vector<std::string>& files);

}  // namespace autopilot::cli
