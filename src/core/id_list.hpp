// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot {

// More ids than any machine has; a longer list is Errc::exhausted.
inline constexpr std::size_t kMaxIdsInList = 65536;

// Parses a list of the kernel, "0-3,8,10-11" or empty, into its ids, in the order of the text. malformed:
// other text, a negative id, or a range that ends before it begins.
[[nodiscard]] Result<std::vector<int>> parse_id_list(std::string_view text);

}  // namespace autopilot
