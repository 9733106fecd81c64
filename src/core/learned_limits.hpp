// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace autopilot {

// A least value of a threshold that was learned from measurements.
struct LearnedLimit {
  double value = 0;     // in the unit of the threshold
  std::string version;  // its id: `autopilot learn show ID`

  friend bool operator==(const LearnedLimit&, const LearnedLimit&) = default;
};

// By the id of the threshold. They replace values of the catalog, and never those of the operator.
using LearnedLimits = std::map<std::string, LearnedLimit, std::less<>>;

}  // namespace autopilot
