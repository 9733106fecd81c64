// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learning_draw.hpp"

// Results of diagnostics on a fleet that does not exist, drawn by seed.
namespace autopilot::learning::bench {

// repeat_cv follows from the repeatability that SuperBench reports (ATC'24): 1 - repeatability is the mean
// difference of two results, 1.128 standard deviations. Spread of compute: 1 to 2 % (silicon); of links 0.3
// to 0.6 % (assumption).
struct FleetMetric {
  std::string_view name;
  double repeat_cv = 0;
  double least_spread = 0, most_spread = 0;
};
[[nodiscard]] std::span<const FleetMetric> fleet_metrics();

struct FleetNode {
  std::string name;
  double level = 1;  // what the node reaches; 1: the nominal value
  bool is_bad = false;
  std::vector<double> values;
};

struct FleetPlan {
  std::size_t nodes = 400;
  double bad_share = 0;  // a share of the nodes is slower by `magnitude`
  double magnitude = 0;
  double shifted_share = 0;  // a share of the nodes has firmware that is slower by `shift`
  double shift = 0;
};

inline constexpr std::size_t kValuesOfRun = 5;

// Fleets of one metric and seed: the spread of the silicon and the offsets of four batches stay the same from
// one call to the next.
class Fleet {
 public:
  Fleet(const FleetMetric& metric, std::uint64_t seed);
  [[nodiscard]] std::vector<FleetNode> make(const FleetPlan& plan);
  // Another run on the node.
  void measure(FleetNode& node);

 private:
  static constexpr std::size_t kBatches = 4;
  Draw draw_;
  double repeat_cv_ = 0, spread_ = 0;
  std::vector<double> batches_;
};

}  // namespace autopilot::learning::bench
