// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "controller/node_marks.hpp"
#include "controller/planner/plan.hpp"
#include "controller/steps/write.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"

namespace autopilot::controller {

// What an action makes of a Node object, in one write that the server refuses when the object has changed
// since it was seen as `node`. Nothing: it is so already. conflict: it would touch what somebody else has
// done. Pure.
[[nodiscard]] Result<std::optional<Write>> node_step(const PlannedAction& action, const kube::Node& node,
                                                     const NodeMarks& marks, WallTime now);
// Tells its agent that it may reserve the node for a deep test. Nothing: it was told.
[[nodiscard]] std::optional<Write> grant_test(const kube::Node& node, const NodeMarks& marks, WallTime now);

}  // namespace autopilot::controller
