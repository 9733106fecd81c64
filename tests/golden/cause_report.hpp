// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "golden/cause_score.hpp"

namespace autopilot::golden {

struct Judged {
  std::string scenario;
  bool is_held_out = false;
  Score score;
};

struct Share {
  int right = 0;
  int of = 0;
};

// Scenarios in which everything is right.
[[nodiscard]] Share share_right(const std::vector<Judged>& judged, bool is_held_out);
// docs/detection-quality.md
[[nodiscard]] std::string report(const std::vector<Judged>& judged);

}  // namespace autopilot::golden
