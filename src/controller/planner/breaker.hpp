// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// Every pool and cause that has max(nodes, percent) nodes that turned bad within one window and have not
// become better since, by what was seen passively. Not only within the window before now: else the nodes
// would be taken one by one as soon as it has passed.
// nodes: those of concern.
[[nodiscard]] std::vector<TrippedBreaker> tripped_breakers(const World& world, const Policy& policy,
                                                           std::span<const Node* const> nodes);
// The first of that pool; null where there is none.
[[nodiscard]] const TrippedBreaker* tripped_in(const std::vector<TrippedBreaker>& breakers,
                                               std::string_view pool);
// "8 of 20 nodes of pool h100 turned bad by nvlink_fatal within 30m, 3 are too many: ..."
[[nodiscard]] std::string describe(const TrippedBreaker& breaker, const World& world, const Rules& rules);

}  // namespace autopilot::controller
