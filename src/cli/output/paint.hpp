// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "core/health.hpp"

namespace autopilot::cli {

// Escape sequence of the colour.
[[nodiscard]] std::string_view color_of(Health health);
// The text in that colour; unchanged if the style has no colours or `color` is empty.
[[nodiscard]] std::string painted(std::string_view text, std::string_view color, const TableStyle& style);
// "SIMULATED", painted.
[[nodiscard]] std::string simulated_word(const TableStyle& style);
// Heading line for output about a simulated machine; empty otherwise.
[[nodiscard]] std::string simulated_line(bool is_simulated, const TableStyle& style);
// Right-padded with blanks, at least one.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

}  // namespace autopilot::cli
