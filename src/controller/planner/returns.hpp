// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// A node that is held: given back where its health is proven since the last evidence against it, else tested,
// and others are asked for what it needs (mode act).
void give_back_or_test(Deliberation& all, Draft& draft);

// A plan that gave its node back, as the node shows: on probation from now on, or over.
void follow_return(Deliberation& all, const Node& node, const LedgerEntry& entry);

// What is missing; nothing: the node is proven healthy.
[[nodiscard]] std::optional<std::string> missing_proof(const Deliberation& all, const Draft& draft);
// When the node last passed what the policy takes for proof of this plan; nothing: never.
[[nodiscard]] std::optional<WallTime> last_proof(const Node& node, const LedgerEntry& entry,
                                                 const Rules& rules);

// A deep test, unless one was asked for too short a time ago.
void ask_for_test(Deliberation& all, Draft& draft, std::string why);

// A node that was given back: most faults that come again do so within three days. It is tested when that is
// due (mode act; in mode hold a test of anybody counts), and keeps its soft taint until the last test has
// passed, or nobody made one for too long.
void follow_probation(Deliberation& all, const Node& node, const LedgerEntry& entry);

// Marks of a probation whose plan has ended another way: they go.
void clear_probation(Deliberation& all, const Node& node);

}  // namespace autopilot::controller
