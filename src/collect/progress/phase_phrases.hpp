// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "collect/progress/step_patterns.hpp"

namespace autopilot::collect {

// The beginning or the end of a checkpoint, an evaluation, loading or compilation that a line states. `line`
// is in lower case.
[[nodiscard]] std::optional<StatedPhase> find_phase(std::string_view line);

}  // namespace autopilot::collect
