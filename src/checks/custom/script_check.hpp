// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "checks/check.hpp"
#include "core/script_answer.hpp"

namespace autopilot::checks {

inline constexpr std::string_view kCustomPrefix = "custom.";

// A check of the operator: a script that says how the machine is.
struct Script {
  std::string name;  // the check is "custom.<name>"
  std::string path;
  Duration period;
  Duration deadline;
};

// `run` runs the script on the machine that is watched and gives what it said; called on a lane.
[[nodiscard]] Check script_check(const Script& script,
                                 std::function<Result<ScriptAnswer>(MonoTime deadline)> run);

}  // namespace autopilot::checks
