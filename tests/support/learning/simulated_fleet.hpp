// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "learning/hazard/episodes.hpp"
#include "learning/hazard/hazard_model.hpp"

namespace autopilot::learning {

struct FleetShape {
  std::size_t nodes = 400;
  double days = 400;
  double repair_days = 0.5;
  std::uint64_t seed = 7;
};

// Faults of nodes that follow the model exactly, by thinning.
[[nodiscard]] inline FleetHistory simulated_fleet(const HazardModel& model, const FleetShape& shape) {
  std::mt19937_64 random(shape.seed);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  std::vector<NodeFault> faults;
  for (std::size_t i = 0; i < shape.nodes; ++i) {
    NodeHistory node{"node-" + std::to_string(i), {}};
    double day = 0;
    for (;;) {
      const double bound = hazard_at(model, node, day);  // the hazard only falls until the next return
      day -= std::log1p(-uniform()) / bound;
      if (day + shape.repair_days >= shape.days) break;
      if (uniform() * bound > hazard_at(model, node, day)) continue;
      node.episodes.push_back({day, day + shape.repair_days, FaultClass::hardware, false, {}});
      faults.push_back({node.node, day, day + shape.repair_days, FaultClass::hardware, false, ""});
      day += shape.repair_days;
    }
  }
  return *make_fleet_history(std::move(faults), shape.nodes, shape.days);
}

}  // namespace autopilot::learning
