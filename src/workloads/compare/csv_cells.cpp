// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/csv_cells.hpp"

#include "core/parse.hpp"

namespace autopilot::workloads::compare {

std::vector<std::string> csv_cells(std::string_view line, char separator) {
  std::vector<std::string> cells;
  std::string cell;
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cell += '"';
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == separator && !is_quoted) {
      cells.emplace_back(trim(cell));
      cell.clear();
    } else {
      cell += c;
    }
  }
  cells.emplace_back(trim(cell));
  return cells;
}

char csv_separator(std::string_view header) {
  const bool has_comma = csv_cells(header, ',').size() > 1;
  return !has_comma && csv_cells(header, ';').size() > 1 ? ';' : ',';
}

}  // namespace autopilot::workloads::compare
