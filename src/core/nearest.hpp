// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot {

// The known word that a typing error most likely meant: about a third of its letters may be wrong. Nothing
// when none is that near. For error messages.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      const std::vector<std::string>& known);

}  // namespace autopilot
