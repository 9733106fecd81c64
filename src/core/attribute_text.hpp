// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/observation.hpp"

namespace autopilot {

// The attribute of that name as text; empty if it is missing.
[[nodiscard]] std::string attribute_text(const Observation& observation, std::string_view name);

}  // namespace autopilot
