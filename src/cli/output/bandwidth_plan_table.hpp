// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "api/bandwidth_plan.hpp"
#include "cli/output/table.hpp"

namespace autopilot::cli {

// Of a rail with more pairs in the first round the others are counted.
inline constexpr std::size_t kMostPairsShown = 12;

// For a person: of each rail how many nodes have it and which of them are measured first, how long that
// takes, and who is left out.
[[nodiscard]] std::string render_plan(const api::BandwidthPlan& plan, const TableStyle& style);

}  // namespace autopilot::cli
