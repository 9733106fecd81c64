// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::compat::ibm_autopilot {

// True if the first argument of the program is a flag of IBM Autopilot's daemon, and not a command of ours.
[[nodiscard]] bool is_daemon_flag(std::string_view word);

// The daemon's flags and variables as our settings.
struct DaemonSettings {
  std::string settings;               // our settings, as in docs/configuration.md, in YAML
  std::vector<std::string> not_used;  // given flags and variables that have no effect
};

// words: the arguments, in the syntax of Go: -port 3333, --port=3333. environment: NODE_NAME, NAMESPACE and
// so on. malformed: names the flag or variable, and the expected value.
[[nodiscard]] Result<DaemonSettings> daemon_settings(const std::vector<std::string>& words,
                                                     const std::map<std::string, std::string>& environment);

}  // namespace autopilot::compat::ibm_autopilot
