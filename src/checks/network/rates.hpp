// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "checks/judgement.hpp"

namespace autopilot::checks {

// Growth of a counter in the limit's unit (count, per_second, per_minute, per_hour) when it is above the
// limit; nothing when it is not, or cannot be told yet. A rate counts only when at least what it allows in a
// minute (of an hourly rate: in an hour) was seen, so that one bad moment between two close looks is none.
[[nodiscard]] std::optional<double> growth_above(const JudgeInput& input, const Subject& subject,
                                                 std::string_view counter, const Limit& limit,
                                                 Duration window);

}  // namespace autopilot::checks
