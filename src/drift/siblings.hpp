// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drift/facts.hpp"

namespace autopilot::drift {

// A value of a fact, and the nodes that have it.
struct SharedValue {
  std::string value;
  std::vector<std::string> nodes;
};

// A fact in which nodes differ.
struct SiblingDifference {
  std::string key;
  std::vector<SharedValue> values;  // that of the most nodes first
  bool has_majority = false;        // more than half of the nodes that know the fact have the first value
};

// A fact that some of the nodes could not read.
struct UnknownFact {
  std::string key;
  std::vector<std::string> nodes;
};

struct SiblingReport {
  std::size_t compared = 0;  // facts that all nodes know
  std::vector<SiblingDifference> differences;
  std::vector<UnknownFact> unknown;  // known to other nodes
};

// Nodes from which a majority is named.
inline constexpr std::size_t kLeastForMajority = 3;

// Compares machines of one kind. With fewer than kLeastForMajority nodes, or if no value has more than half
// of them, no value counts as right. The order of the result does not depend on the order of `nodes`.
[[nodiscard]] SiblingReport compare_siblings(std::span<const FactSet> nodes);

}  // namespace autopilot::drift
