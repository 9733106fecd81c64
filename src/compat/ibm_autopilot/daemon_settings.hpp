// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::compat::ibm_autopilot {

// Whether a program whose first argument this is was called as the daemon of IBM Autopilot: by one of its
// flags, and not by a verb of ours.
[[nodiscard]] bool is_daemon_flag(std::string_view word);

// What its flags and variables mean here.
struct DaemonSettings {
  std::string settings;               // ours, as docs/configuration.md lists them, in YAML
  std::vector<std::string> not_used;  // flags and variables that were given and change nothing here
};

// words: its arguments, in the syntax of Go: -port 3333, --port=3333. environment: NODE_NAME, NAMESPACE and
// the like. malformed: names the flag or variable, and what was expected.
[[nodiscard]] Result<DaemonSettings> daemon_settings(const std::vector<std::string>& words,
                                                     const std::map<std::string, std::string>& environment);

}  // namespace autopilot::compat::ibm_autopilot
