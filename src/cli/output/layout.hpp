// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/table.hpp"
#include "core/health.hpp"

namespace autopilot::cli {

struct Cell {
  std::string text;
  std::string_view color = {};  // an escape sequence; outlives the cell
};
using Row = std::vector<Cell>;

// A text table. Each column is as wide as its longest cell. The last column is wrapped to the width of the
// style, on separate lines if the other columns leave no room. Control characters are replaced (see
// printable). Every row has as many cells as `titles`.
[[nodiscard]] std::string render_columns(const std::vector<std::string>& titles, std::vector<Row> rows,
                                         const TableStyle& style);

// Escape sequence of the colour.
[[nodiscard]] std::string_view color_of(Health health);
// The text in that colour; unchanged if the style has no colours or `color` is empty.
[[nodiscard]] std::string painted(std::string_view text, std::string_view color, const TableStyle& style);
// "SIMULATED", painted.
[[nodiscard]] std::string simulated_word(const TableStyle& style);
// Heading line for output about a simulated machine; empty otherwise.
[[nodiscard]] std::string simulated_line(bool is_simulated, const TableStyle& style);
// At most `width` bytes; "..." replaces the rest of a longer text. Cuts no UTF-8 character.
[[nodiscard]] std::string cut_text(std::string_view text, std::size_t width);
// Right-padded with blanks, at least one.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

}  // namespace autopilot::cli
