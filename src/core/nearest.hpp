// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot {

// The known word that is nearest to a typing error: at most about a third of its letters can differ. nullopt
// if no known word is that near. For error messages.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      const std::vector<std::string>& known);

}  // namespace autopilot
