// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "fleet/pair_tests/round_plan.hpp"

namespace autopilot::fleet {

// A full table: every two NICs of a rail are tested once, whatever earlier tests showed. Those under one
// leaf, or of no known leaf, come first, by the circle method; few pairs leave a leaf at once.

inline constexpr std::size_t kMostForAllPairs = 128;  // nodes

// Pairs that were in no test yet; as Record in round_plan.hpp. Nothing: all who are not gone have met.
[[nodiscard]] std::vector<Record> all_pairs_round(const Known& known);

// So many rounds it takes where nobody goes.
[[nodiscard]] std::size_t all_pairs_rounds(const Fabric& fabric, const PairSettings& settings);

}  // namespace autopilot::fleet
