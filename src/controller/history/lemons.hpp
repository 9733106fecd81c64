// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "controller/planner/facts.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/history/history.hpp"

namespace autopilot::controller {

// The lemons of the fleet that learning's own budget lets out of service at once, the worst first
// (learning/report/lemon_list.hpp), and the last fault of each node. `nodes`: all nodes with accelerators.
// Blocks on the disk. exhausted: more records than a report can have.
[[nodiscard]] Result<LemonSearch> find_lemons(const store::History& history,
                                              const std::vector<std::string>& nodes, WallTime now);

}  // namespace autopilot::controller
