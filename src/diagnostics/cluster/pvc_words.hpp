// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/observation.hpp"
#include "diagnostics/cluster/pvc_steps.hpp"

namespace autopilot::diagnostics {

// One test as the check storage.pvc finds it on the board: pvc.outcome, pvc.seconds and, where something did
// not go, pvc.left_behind. Without a result: none has ended yet.
[[nodiscard]] Observations pvc_observations(const PvcTarget& target, const std::optional<PvcResult>& result,
                                            const PvcTimes& times, Instant ended);

}  // namespace autopilot::diagnostics
