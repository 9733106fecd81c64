// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collect/flight_recorder/dump.hpp"

// Dumps of several ranks, for a person. Pure.
namespace autopilot::collect {

struct RankDump {
  int rank = 0;
  std::vector<DumpGroup> groups;
};

// Process groups with lines for their ranks; further groups are counted.
inline constexpr std::size_t kMostSummarisedGroups = 256;

// For each process group with an open operation, or with ranks at different collectives: what each rank waits
// in, and the last collectives that it enqueued and completed; then the ranks that have not enqueued a
// collective that others of the same group have. It states counts and judges nothing: a rank that is missing
// in `dumps` may be ahead of all others or behind them.
[[nodiscard]] std::string summarise_dumps(const std::vector<RankDump>& dumps);

}  // namespace autopilot::collect
