// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/health.hpp"

namespace autopilot {

struct ScriptReading {
  std::string name;  // snake_case with dots
  double value = 0;
  std::string unit;
};

// Result of a script of the operator.
struct ScriptAnswer {
  static constexpr std::size_t kMaxMessage = 500;
  static constexpr std::size_t kMaxReadings = 64;

  Health health = Health::unknown;  // healthy, degraded, failed or unknown
  std::string message;              // valid UTF-8, one line
  std::vector<ScriptReading> readings;
};

}  // namespace autopilot
