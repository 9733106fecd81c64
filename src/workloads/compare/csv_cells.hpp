// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autopilot::workloads::compare {

// The cells of one line, without spaces around them; a cell in double quotes may hold separators.
[[nodiscard]] std::vector<std::string> csv_cells(std::string_view line, char separator = ',');

// ';' for a header line with semicolons and without commas, otherwise ','.
[[nodiscard]] char csv_separator(std::string_view header);

}  // namespace autopilot::workloads::compare
