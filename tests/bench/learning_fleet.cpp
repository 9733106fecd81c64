// SPDX-License-Identifier: Apache-2.0
#include "learning_fleet.hpp"

#include <algorithm>
#include <array>

namespace autopilot::learning::bench {
namespace {

constexpr double kFromRepeatability = 1.128;
constexpr double kBatchSpread = 0.003;  // assumption

constexpr std::array kMetrics{
    FleetMetric{"loopback of the HCA", 0.0004 / kFromRepeatability, 0.003, 0.006},
    FleetMetric{"copies host to device", 0.0032 / kFromRepeatability, 0.003, 0.006},
    FleetMetric{"training of BERT", 0.0061 / kFromRepeatability, 0.01, 0.02},
    FleetMetric{"matmul beside all-reduce", 0.0212 / kFromRepeatability, 0.01, 0.02},
    FleetMetric{"training of DenseNet", 0.023 / kFromRepeatability, 0.01, 0.02},
};

bool is_among_first(std::size_t i, double share, std::size_t count) {
  return static_cast<double>(i) < share * static_cast<double>(count);
}

}  // namespace

std::span<const FleetMetric> fleet_metrics() {
  return kMetrics;
}

Fleet::Fleet(const FleetMetric& metric, std::uint64_t seed)
    : draw_(seed),
      repeat_cv_(metric.repeat_cv),
      spread_(draw_.between(metric.least_spread, metric.most_spread)) {
  for (std::size_t i = 0; i < kBatches; ++i)
    batches_.push_back(kBatchSpread * draw_.normal());
}

void Fleet::measure(FleetNode& node) {
  for (std::size_t i = 0; i < kValuesOfRun; ++i)
    node.values.push_back(100 * std::max(0.01, node.level * (1 + repeat_cv_ * draw_.normal())));
}

std::vector<FleetNode> Fleet::make(const FleetPlan& plan) {
  std::vector<FleetNode> nodes(plan.nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    FleetNode& node = nodes[i];
    node.name = "node-" + std::to_string(i);
    node.is_bad = is_among_first(i, plan.bad_share, plan.nodes);
    node.level = (1 + spread_ * draw_.normal()) * (1 + batches_[i % kBatches]);
    if (node.is_bad) node.level *= 1 - plan.magnitude;
    if (is_among_first(nodes.size() - 1 - i, plan.shifted_share, plan.nodes)) node.level *= 1 - plan.shift;
    measure(node);
  }
  return nodes;
}

}  // namespace autopilot::learning::bench
