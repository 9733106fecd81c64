// SPDX-License-Identifier: Apache-2.0
#include "learning_budget.hpp"

#include <cmath>
#include <string>

#include "learning/threshold/threshold.hpp"
#include "learning_draw.hpp"

namespace autopilot::learning::bench {
namespace {

constexpr Budget kBudget{.findings = 10, .evaluations = 96};
constexpr Duration kEvery = std::chrono::minutes(15);

std::vector<Score> draw_scores(std::size_t nodes, int days, std::uint64_t seed) {
  constexpr double kCorrelation = 0.5;
  constexpr int kDegrees = 6;
  Draw draw(seed);
  std::vector<Score> scores;
  for (std::size_t node = 0; node < nodes; ++node) {
    double state = draw.normal();
    for (int i = 0; i < days * static_cast<int>(kBudget.evaluations); ++i) {
      state = kCorrelation * state + std::sqrt(1 - kCorrelation * kCorrelation) * draw.normal();
      double squares = 0;
      for (int k = 0; k < kDegrees; ++k)
        squares += std::pow(draw.normal(), 2);
      scores.push_back({"n" + std::to_string(node), WallTime(kEvery * i),
                        std::abs(state) / std::sqrt(squares / kDegrees)});
    }
  }
  return usable_scores(scores, {});
}

BudgetResult run_method(std::size_t nodes, int days, const Seeds& seeds) {
  constexpr std::size_t kTestNodes = 200;
  constexpr int kTestDays = 30;
  constexpr double kFactor = 1.5;
  const double test_node_days = kTestNodes * kTestDays;
  BudgetResult result{.asked = kBudget.findings};
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const auto scores = draw_scores(nodes, days, 10 * seed);
    const auto threshold = learn_threshold(scores, rate_of(kBudget).value()).value();
    const auto findings = findings_above(draw_scores(kTestNodes, kTestDays, 10 * seed + 1), threshold.value);
    const double ratio = static_cast<double>(findings) * 1000 / test_node_days / kBudget.findings;
    result.method = threshold.method == ThresholdMethod::conformal ? "conformal" : "tail";
    result.scores = scores.size();
    result.findings += findings;
    result.node_days += test_node_days;
    ++result.seeds;
    if (ratio <= kFactor && ratio >= 1 / kFactor) ++result.within;
  }
  const RealisedBudget all = realised(result.findings, result.node_days).value();
  result.per_1000_node_days = all.per_1000_node_days;
  result.low = all.low;
  result.high = all.high;
  return result;
}

}  // namespace

std::vector<BudgetResult> run_budget(const Seeds& seeds) {
  return {run_method(100, 30, seeds), run_method(20, 14, seeds)};
}

}  // namespace autopilot::learning::bench
