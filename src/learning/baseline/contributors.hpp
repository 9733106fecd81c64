// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "learning/baseline/kind.hpp"
#include "learning/baseline/medoid.hpp"
#include "learning/records.hpp"

// Which measurements a baseline is learned from.
namespace autopilot::learning {

// "cluster/node" or "cluster/node/serial".
[[nodiscard]] std::string place_text(const Place& place);

struct Contributions {
  KindLevel level = KindLevel::full;
  std::string kind;                // kind_text at that level
  std::vector<NodeResults> nodes;  // ordered by place
  std::size_t excluded = 0;        // places with a measurement that does not count
  WallTime first{}, last{};        // of the measurements that count
};

// A place contributes with at least so many values; of more than kMostValuesOfNode, the latest count.
inline constexpr std::size_t kLeastValues = 3;

// Measurements of the metric on machines of the kind, at the most specific level at which at least
// `least_nodes` places contribute; all measurements of a place are pooled. A measurement does not count if
// its place, or the node of its card, had a fault at its time, or has an open fault, or is on probation
// (`probation`: place_text of nodes), or if it has a value that is not finite or not above 0.
// `malformed`: `kind` cannot be parsed. `not_found`: too few places at each level.
[[nodiscard]] Result<Contributions> contributions_of(std::span<const Measurement> measurements,
                                                     std::span<const Fault> faults,
                                                     const std::set<std::string>& probation,
                                                     const std::string& kind, const std::string& check,
                                                     const std::string& metric, std::size_t least_nodes = 20);

}  // namespace autopilot::learning
