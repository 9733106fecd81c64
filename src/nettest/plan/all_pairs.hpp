// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "nettest/plan/round_plan.hpp"

namespace autopilot::nettest {

// Full table: every pair of NICs of a rail is tested once, regardless of earlier results. Pairs under one
// leaf or of unknown leaf come first, in the order of the circle method; few pairs leave a leaf at once.

inline constexpr std::size_t kMostForAllPairs = 128;  // nodes

// Pairs not tested yet, as Record in round_plan.hpp. Empty: all remaining nodes have been tested with each
// other.
[[nodiscard]] std::vector<Record> all_pairs_round(const Known& known);

// Number of rounds if no node leaves.
[[nodiscard]] std::size_t all_pairs_rounds(const Fabric& fabric, const PairSettings& settings);

}  // namespace autopilot::nettest
