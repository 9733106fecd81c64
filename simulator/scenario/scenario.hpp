// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/health.hpp"
#include "core/result.hpp"
#include "faults/fault.hpp"

namespace autopilot::simulator {

// scenario.yaml (docs/machine-tree.md).
struct Scenario {
  std::string title;
  std::string machine;  // a built-in machine or a directory; empty in a tree's own scenario
  std::vector<Fault> timeline;
  Verdict expected = Verdict::none;
};

// malformed: every problem with file and line. Subjects are validated later against a machine.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text, const std::string& file);

}  // namespace autopilot::simulator
