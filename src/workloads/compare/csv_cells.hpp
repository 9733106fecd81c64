// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autopilot::workloads::compare {

// The cells of one line, without spaces around them; a cell in double quotes may hold commas.
[[nodiscard]] std::vector<std::string> csv_cells(std::string_view line);

}  // namespace autopilot::workloads::compare
