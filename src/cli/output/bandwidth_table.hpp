// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "core/observation.hpp"

namespace autopilot::cli {

// Of more nodes the pairs that have least of what is usual are told in place of a matrix.
inline constexpr std::size_t kMostMatrixNodes = 12;

// What the check network.bandwidth observed, for a person: of each interface a matrix in Gbit/s, who sends at
// its left and who receives above it, and whom the run suspects, with what speaks for it. Empty where nothing
// was measured. out_of: what stands beside the name of an interface ("GPU memory"); empty: nothing.
[[nodiscard]] std::string render_bandwidth(const Observations& observations, std::string_view out_of,
                                           const TableStyle& style);

}  // namespace autopilot::cli
