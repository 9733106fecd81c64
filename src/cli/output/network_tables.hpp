// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/bandwidth.hpp"
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

// Table of the observations of network.nccl_group: for each all-reduce its rate in Gbit/s, `?` if not
// measured, `!` if GPUs computed a wrong sum; and the nodes that took no part. Empty without such
// observations.
[[nodiscard]] std::string render_groups(const Observations& observations, const TableStyle& style);

// A rail with more pairs in its first round shows the number of the others.
inline constexpr std::size_t kMostPairsShown = 12;

// Table of a bandwidth plan: for each rail the number of nodes and the pairs of the first round; then the
// duration, and the nodes left out.
[[nodiscard]] std::string render_plan(const api::BandwidthPlan& plan, const TableStyle& style);

// Gbit/s with three digits or more, for a rate in bits/s: 9.41, 24.5, 3004.
[[nodiscard]] std::string gigabits(double rate);

}  // namespace autopilot::cli
