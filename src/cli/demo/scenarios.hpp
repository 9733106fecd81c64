// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::cli {

// One fault of a simulated machine, and the commands that show it.
struct DemoScenario {
  std::string_view name;             // "xid-79"
  std::string_view title;            // one line
  std::string_view fault;            // of autopilot-sim
  std::string_view subject;          // of the fault; empty: the first of its kind
  std::string_view what_happens;     // in the words of an operator
  std::vector<std::string> checks;   // that report it
  std::vector<std::string> explain;  // arguments of autopilot explain
};

// The machine of every scenario.
inline constexpr std::string_view kDemoMachine = "hgx-h100-8";

// The default scenario first.
[[nodiscard]] std::span<const DemoScenario> demo_scenarios();
// not_found: names the nearest scenario.
[[nodiscard]] Result<DemoScenario> demo_scenario(std::string_view name);

}  // namespace autopilot::cli
