// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// What speaks against placing pods there, in a few words; empty: nothing does.
[[nodiscard]] std::string fault_of(const Deliberation& all, const Node& node);
[[nodiscard]] bool is_good(const Deliberation& all, const Node& node);
// What keeps the pod from that node, whatever state the node is in, in a few words; empty: nothing does.
[[nodiscard]] std::string obstacle_of(const Pod& pod, const Node& node);
// Another node of the pool could take the pod, now or when it is free: if moved it has somewhere to go.
[[nodiscard]] bool has_another(const Deliberation& all, const Node& node, const Pod& pod);
// A node of the same pool that can take all of these pods now, best one of the same failure domain, and best
// none on probation; not one that this plan has named already. Nothing: there is none.
[[nodiscard]] std::optional<std::string> spare_for(const Deliberation& all, const Node& node,
                                                   std::span<const Pod* const> pods);

}  // namespace autopilot::controller
