// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/clock.hpp"
#include "why/evidence.hpp"
#include "why/explanation.hpp"

namespace autopilot::why {

// The answer to `autopilot why`.
struct Report {
  std::string node;
  WallTime now{};
  WallTime since{};  // older evidence was left out; WallTime{}: none was
  bool is_simulated = false;
  Target target;
  std::string target_text;  // for a heading: "4242 (python3, runs)"
  Explanation explanation;
  std::vector<Source> sources;
};

}  // namespace autopilot::why
