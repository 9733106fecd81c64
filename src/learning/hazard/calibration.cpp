// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "learning/hazard/fleet_level.hpp"

namespace autopilot::learning {
namespace {

constexpr std::size_t kTenths = 10;

// `nodes` predictions of one probability.
struct Prediction {
  double probability = 0;
  double nodes = 0;
  double observed = 0;
};

struct Predictions {
  std::vector<Prediction> all;
  std::vector<double> expected, observed;  // of each node with a fault
  double expected_without_fault = 0;       // of each other node
};

void predict_day(const FleetHistory& fleet, const HazardModel& model, double day, double horizon,
                 Predictions& predictions) {
  const double level = fleet_level(model, fleet, day);
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    const NodeHistory& node = fleet.nodes[i];
    if (!is_in_service(node, day)) continue;
    const double probability = probability_of_fault(level * expected_faults(model, node, day, day + horizon));
    const double observed = begins_between(node, day, day + horizon) > 0 ? 1 : 0;
    predictions.all.push_back({probability, 1, observed});
    predictions.expected[i] += probability;
    predictions.observed[i] += observed;
  }
  const double probability =
      probability_of_fault(level * expected_faults_without_return(model, day, day + horizon));
  predictions.all.push_back({probability, static_cast<double>(fleet.without_fault), 0});
  predictions.expected_without_fault += probability;
}

// Cuts the sorted predictions into groups of equal size. Predictions of one probability that a cut divides
// count in both groups with their share of the observed faults.
std::vector<CalibrationGroup> tenths_of(std::vector<Prediction> sorted, double nodes) {
  std::vector<CalibrationGroup> tenths;
  std::size_t next = 0;
  for (std::size_t i = 0; i < kTenths; ++i) {
    CalibrationGroup group;
    double room = nodes / kTenths;
    constexpr double rounding = 1e-6;
    while (room > rounding && next < sorted.size()) {
      Prediction& one = sorted[next];
      const double taken = std::min(room, one.nodes);
      const double observed = one.nodes > 0 ? one.observed * taken / one.nodes : 0;
      if (group.nodes == 0) group.lowest = one.probability;
      group.highest = one.probability;
      group.nodes += taken;
      group.expected += taken * one.probability;
      group.observed += observed;
      room -= taken;
      one.nodes -= taken;
      one.observed -= observed;
      if (one.nodes <= rounding) ++next;
    }
    tenths.push_back(group);
  }
  return tenths;
}

// Predictions of one probability as one, the lowest probability first.
std::vector<Prediction> sorted_predictions(std::vector<Prediction> all) {
  std::ranges::sort(all, {}, &Prediction::probability);
  std::vector<Prediction> merged;
  for (const Prediction& one : all) {
    if (merged.empty() || merged.back().probability != one.probability)
      merged.push_back({one.probability, 0, 0});
    merged.back().nodes += one.nodes;
    merged.back().observed += one.observed;
  }
  return merged;
}

}  // namespace

Calibration calibrate(const FleetHistory& fleet, const HazardModel& model, double horizon_days,
                      double from_day, double to_day, std::size_t draws, std::uint64_t seed) {
  const std::size_t size = fleet.nodes.size();
  Predictions predictions{{}, std::vector<double>(size), std::vector<double>(size), 0};
  for (double day = from_day; day + horizon_days <= to_day; day += horizon_days)
    predict_day(fleet, model, day, horizon_days, predictions);
  Calibration result;
  result.horizon_days = horizon_days;
  double nodes = 0;
  for (const Prediction& one : predictions.all) {
    nodes += one.nodes;
    result.expected += one.nodes * one.probability;
    result.observed += one.observed;
  }
  result.predictions = static_cast<std::size_t>(std::lround(nodes));
  result.tenths = tenths_of(sorted_predictions(std::move(predictions.all)), nodes);
  if (result.observed == 0) return result;
  result.ratio = bootstrap(NodeDraws(size, fleet.without_fault, seed), draws, [&](const NodeDraw& draw) {
    double expected = draw.without_fault * predictions.expected_without_fault;
    double observed = 0;
    for (std::size_t i = 0; i < size; ++i) {
      expected += draw.nodes[i] * predictions.expected[i];
      observed += draw.nodes[i] * predictions.observed[i];
    }
    return expected / observed;
  });
  return result;
}

}  // namespace autopilot::learning
