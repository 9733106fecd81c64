// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "learning/baseline/distribution.hpp"

namespace autopilot::learning {

// Results of one metric on one node or card.
struct NodeResults {
  std::string place;  // identity of the node or card: "cluster/node" or "cluster/node/serial"
  Distribution values;
};

// Distances are computed between at most this many nodes.
inline constexpr std::size_t kMostCompared = 200;

// The position of the node with the smallest sum of differences to all others. Of more than kMostCompared
// nodes, as many take part; the seed and the places choose them. Equal nodes and seed give the same node,
// whatever their order. Needs at least one node; O(min(n, kMostCompared)^2).
[[nodiscard]] std::size_t medoid_of(std::span<const NodeResults* const> nodes, std::uint64_t seed);

}  // namespace autopilot::learning
