// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "core/health.hpp"

namespace autopilot::cli {

// What switches a colour on.
[[nodiscard]] std::string_view color_of(Health health);
// The text in that colour where the style has colours; as it is where `color` is empty.
[[nodiscard]] std::string painted(std::string_view text, std::string_view color, const TableStyle& style);
// What is said of a machine that does not exist.
[[nodiscard]] std::string simulated_word(const TableStyle& style);
// The line with it above what is told of such a machine; of another one empty.
[[nodiscard]] std::string simulated_line(bool is_simulated, const TableStyle& style);
// With blanks behind it, at least one.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

}  // namespace autopilot::cli
