// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/output/table.hpp"

namespace autopilot::cli {

struct Cell {
  std::string text;
  std::string_view color = {};  // paint.hpp; outlives the cell
};
using Row = std::vector<Cell>;

// A table for a person: each column as wide as its longest cell, the last one wrapped to the width of the
// style, on lines of its own where the others leave no room. Control characters never reach the terminal.
// Every row has as many cells as there are titles.
[[nodiscard]] std::string render_columns(const std::vector<std::string>& titles, std::vector<Row> rows,
                                         const TableStyle& style);

}  // namespace autopilot::cli
