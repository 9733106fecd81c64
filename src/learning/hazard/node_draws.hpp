// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace autopilot::learning {

// A value with the interval in which 95 % of the bootstrap values lie.
struct BootstrapInterval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// How often each node is in one draw of a fleet with replacement.
struct NodeDraw {
  std::vector<double> nodes;  // with a fault, in the order of the history
  double without_fault = 0;   // all others together
};

// Draws fleets of the same size. The same seed gives the same draws on every machine.
class NodeDraws {
 public:
  NodeDraws(std::size_t with_fault, std::size_t without_fault, std::uint64_t seed);
  [[nodiscard]] NodeDraw next();
  // The fleet itself.
  [[nodiscard]] NodeDraw whole() const;

 private:
  std::size_t with_fault_;
  std::size_t without_fault_;
  std::mt19937_64 random_;
};

// `statistic` of the fleet, with the 2.5 % and 97.5 % quantiles of its values for `draws` drawn fleets.
// Values that are not finite (a draw without a fault) do not count. `draws` is at least 1.
[[nodiscard]] BootstrapInterval bootstrap(NodeDraws draws, std::size_t count,
                                          const std::function<double(const NodeDraw&)>& statistic);

}  // namespace autopilot::learning
