// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "api/bandwidth_plan.hpp"
#include "cli/output/table.hpp"

namespace autopilot::cli {

// A rail with more pairs in its first round shows the number of the others.
inline constexpr std::size_t kMostPairsShown = 12;

// Table of a bandwidth plan: for each rail the number of nodes and the pairs of the first round; then the
// duration, and the nodes left out.
[[nodiscard]] std::string render_plan(const api::BandwidthPlan& plan, const TableStyle& style);

}  // namespace autopilot::cli
