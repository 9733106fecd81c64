// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "learning_fleet.hpp"

// Rules that find degraded nodes: baselines of `learning`, and the open rules of SuperBench, written from
// their description.
namespace autopilot::learning::bench {

class NodeRule {
 public:
  NodeRule() = default;
  NodeRule(const NodeRule&) = delete;
  NodeRule& operator=(const NodeRule&) = delete;
  virtual ~NodeRule() = default;
  // How bad the node is; above 1: it fails. May measure it again.
  [[nodiscard]] virtual double score(FleetNode node, Fleet& fleet) const = 0;
};

// baseline: as `autopilot` learns it. no_repeats: without another measurement of doubtful nodes. mean_5:
// below 95 % of the mean; nodes below it are dropped from the mean until none is. iqr_15, iqr_30: below the
// first quartile by more than 1.5 or 3 interquartile ranges.
[[nodiscard]] std::span<const std::string_view> rule_names();
// Null: the rule refuses to learn from this fleet.
[[nodiscard]] std::unique_ptr<NodeRule> learn_rule(std::string_view name, std::span<const FleetNode> fleet);

// Median of the baseline; nullopt: none is learned from this fleet.
[[nodiscard]] std::optional<double> learned_centre(std::span<const FleetNode> fleet);

}  // namespace autopilot::learning::bench
