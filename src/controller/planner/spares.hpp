// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "controller/planner/draft.hpp"

namespace autopilot::controller {

// What speaks against placing pods there, in a few words; empty: nothing does.
[[nodiscard]] std::string fault_of(const Deliberation& all, const Node& node);
[[nodiscard]] bool is_good(const Deliberation& all, const Node& node);
// Another node of the pool could take a pod of that size, now or when it is free: a pod that is moved has
// somewhere to go.
[[nodiscard]] bool has_another(const Deliberation& all, const Node& node, int gpus);
// A node of the same pool that has so many GPUs free now, best one of the same failure domain, and best none
// on probation; not one that this plan has named already. Nothing: there is none.
[[nodiscard]] std::optional<std::string> spare_for(const Deliberation& all, const Node& node, int gpus);

}  // namespace autopilot::controller
