// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// A node that was given back: most faults that come again do so within three days. It is tested when that is
// due (mode act; in mode hold a test of anybody counts), and keeps its soft taint until the last test has
// passed, or nobody made one for too long.
void follow_probation(Deliberation& all, const Node& node, const LedgerEntry& entry);

// Marks of a probation whose plan has ended another way: they go.
void clear_probation(Deliberation& all, const Node& node);

}  // namespace autopilot::controller
