// SPDX-License-Identifier: Apache-2.0
#include "learning/signals/signal_margins.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::learning {
namespace {

constexpr double kScoresOfDay = 48;  // of a node: one each half hour
constexpr double kLeastMarginChange = 0.05;
constexpr double kUsualQuantile = 0.98;

// A score that healthy nodes reach now and then; 0 or less: they never come near the margin.
double usual_score(const std::vector<Score>& scores) {
  std::vector<double> values;
  values.reserve(scores.size());
  for (const Score& score : scores)
    values.push_back(score.value);
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(kUsualQuantile * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

Result<MarginFit> learn_margins(const SignalScores& scores, std::span<const LabelledFault> faults,
                                const std::set<std::string>& refuted, double findings_budget) {
  MarginFit fit;
  std::set<std::string> all_nodes;
  const double share = findings_budget / static_cast<double>(std::max<std::size_t>(scores.size(), 1));
  const double rate = TRY(rate_of({.findings = share, .evaluations = kScoresOfDay}));
  for (const auto& [signal, read] : scores) {
    const std::vector<Score> usable = usable_scores(read, faults);
    std::set<std::string> nodes;
    for (const Score& score : usable)
      nodes.insert(score.place);
    fit.scores += usable.size();
    all_nodes.insert(nodes.begin(), nodes.end());
    if (nodes.size() < kLeastScoredNodes || usual_score(usable) <= 0) continue;
    const auto threshold = learn_threshold(usable, rate);
    if (!threshold) continue;
    const double factor = std::clamp(threshold->value, kLeastMarginFactor, kMostMarginFactor);
    if (std::abs(factor - 1) <= kLeastMarginChange || (factor > 1 && !refuted.contains(signal))) continue;
    fit.margins.push_back({signal, factor, usable.size()});
  }
  fit.nodes = all_nodes.size();
  return fit;
}

}  // namespace autopilot::learning
