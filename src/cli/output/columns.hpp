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

// A text table. Each column is as wide as its longest cell. The last column is wrapped to the width of the
// style, on separate lines if the other columns leave no room. Control characters are replaced (see
// printable). Every row has as many cells as `titles`.
[[nodiscard]] std::string render_columns(const std::vector<std::string>& titles, std::vector<Row> rows,
                                         const TableStyle& style);

}  // namespace autopilot::cli
