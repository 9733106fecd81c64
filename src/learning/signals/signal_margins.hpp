// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "learning/signals/signal_cases.hpp"
#include "learning/threshold/threshold.hpp"

namespace autopilot::learning {

// Scores of healthy nodes by signal: how far the worst part of a node is from its peers within half an hour,
// as a multiple of the margin in use.
using SignalScores = std::map<std::string, std::vector<Score>, std::less<>>;

inline constexpr double kLeastMarginFactor = 0.5;
inline constexpr double kMostMarginFactor = 2;
// A margin needs scores of as many nodes.
inline constexpr std::size_t kLeastScoredNodes = 16;

struct MarginFit {
  std::vector<LearnedMargin> margins;  // that change by more than 5 %, by signal
  std::size_t scores = 0;              // that were read, without those at faults
  std::size_t nodes = 0;
};

// The smallest margins that keep the budget of false findings on the scores of healthy nodes, of which each
// signal has an equal share. A margin is lowered if no more than its share of findings follows. It is raised
// only for a signal in `refuted`: tests or diagnoses state that findings with it were wrong. Scores within 30
// minutes of a fault do not count. A signal that healthy nodes do not show at all keeps its margin.
// `malformed`: the budget.
[[nodiscard]] Result<MarginFit> learn_margins(const SignalScores& scores,
                                              std::span<const LabelledFault> faults,
                                              const std::set<std::string>& refuted, double findings_budget);

}  // namespace autopilot::learning
