// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "core/observation.hpp"

namespace autopilot::cli {

// With more nodes a list of the slowest pairs replaces the matrix.
inline constexpr std::size_t kMostMatrixNodes = 12;

// Tables of the observations of network.bandwidth: for each interface a matrix in Gbit/s, with senders in
// rows and receivers in columns, and the suspects with their evidence. Empty if nothing was measured. out_of:
// added to the interface name ("GPU memory"); may be empty.
[[nodiscard]] std::string render_bandwidth(const Observations& observations, std::string_view out_of,
                                           const TableStyle& style);

}  // namespace autopilot::cli
