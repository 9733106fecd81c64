// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// Handles a held node: returns it if its health is proven since the last evidence, otherwise orders a
// diagnostic, and requests actions of other programs (mode act).
void give_back_or_test(Deliberation& all, Draft& draft);

// Continues a plan whose node shows that it was returned: the plan enters probation or ends.
void follow_return(Deliberation& all, const Node& node, const LedgerEntry& entry);

// The missing proof of health; nullopt: the node is proven healthy.
[[nodiscard]] std::optional<std::string> missing_proof(const Deliberation& all, const Draft& draft);
// When the node last passed the proof that the policy requires for this plan; nullopt: never.
[[nodiscard]] std::optional<WallTime> last_proof(const Node& node, const LedgerEntry& entry,
                                                 const Rules& rules);

// Orders a deep diagnostic, unless the last order is too recent.
void ask_for_test(Deliberation& all, Draft& draft, std::string why);

// Handles a returned node: most faults that recur do so within three days. It is tested when a test is due
// (mode act; in mode hold, any test counts), and keeps its soft taint until the last test has passed, or has
// not run for too long.
void follow_probation(Deliberation& all, const Node& node, const LedgerEntry& entry);

// Removes the marks of a probation whose plan has ended otherwise.
void clear_probation(Deliberation& all, const Node& node);

}  // namespace autopilot::controller
