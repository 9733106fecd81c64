// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "learning/baseline/medoid.hpp"

// Results of fleets that do not exist, for tests.
namespace autopilot::learning::test_fleets {

struct Part {
  std::size_t nodes = 0;
  double level = 100;
};

// Five values of each node: 1 % spread of nodes, 0.5 % noise of values.
inline std::vector<NodeResults> make_fleet(const std::vector<Part>& parts, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<NodeResults> fleet;
  for (const Part& part : parts)
    for (std::size_t i = 0; i < part.nodes; ++i) {
      const double level = part.level * (1 + 0.01 * normal(engine));
      std::vector<double> values(5);
      for (double& value : values)
        value = level * (1 + 0.005 * normal(engine));
      fleet.push_back({"c/node-" + std::to_string(fleet.size()), Distribution::of(values).value()});
    }
  return fleet;
}

}  // namespace autopilot::learning::test_fleets
