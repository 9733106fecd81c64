// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/removal.hpp"

namespace autopilot::controller {

std::optional<WallTime> last_asked(const LedgerEntry& entry, const Pod& pod) {
  for (const DoneStep& step : entry.done) {
    if (is_removal(step.kind) && step.target == pod.uid) return step.at;
  }
  return std::nullopt;
}

}  // namespace autopilot::controller
