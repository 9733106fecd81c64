// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "learning/hazard/episodes.hpp"
#include "learning/hazard/node_draws.hpp"

namespace autopilot::learning {

// A score of nodes: greater means that a fault is more likely.
struct NodeScore {
  std::string name;
  std::function<double(const NodeHistory&, double day)> of_node;
  std::function<double(double day)> without_fault;  // of a node that has no fault until `day`
};

struct RankingPlan {
  std::vector<double> days;  // when the nodes are ranked
  double horizon_days = 28;  // within which a fault counts as a hit
  double top_share = 0.05;   // of the nodes in service, at least one
  std::size_t draws = 1000;
  std::uint64_t seed = 1;
};

// Means over the days of the plan.
struct RankingResult {
  std::string name;
  BootstrapInterval precision;  // share of the top nodes with a fault within the horizon
  double base_rate = 0;         // the same of all nodes in service
  BootstrapInterval lift;       // precision / base rate
  BootstrapInterval auc;        // probability that a node with a fault ranks before one without
};

// Ranks the nodes that are in service on each day; a node whose fault is open is not in service. Nodes of
// equal score share their places: each counts with the share of hits among them.
[[nodiscard]] RankingResult judge_ranking(const FleetHistory& fleet, const NodeScore& score,
                                          const RankingPlan& plan);

}  // namespace autopilot::learning
