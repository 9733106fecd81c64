// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

// Thresholds of scores (higher is worse) that follow from a budget of false findings.
namespace autopilot::learning {

struct Budget {
  double findings = 10;      // false ones for each 1000 node-days; usual: 1 for pages, 10 for tickets
  double evaluations = 288;  // for each node-day, after persistence; 288: each 5 minutes
};

// Probability that one evaluation of a healthy node is above the threshold. `malformed`: a budget or number
// of evaluations that is not above 0 and finite, or a budget of one finding for each evaluation or more.
[[nodiscard]] Result<double> rate_of(const Budget& budget);

// One evaluation of a place that has no known fault.
struct Score {
  std::string place;
  WallTime time{};
  double value = 0;
};

// An interval in which scores of a place do not count: a labelled fault. 30 minutes before and after it do
// not count either.
struct LabelledFault {
  std::string place;
  WallTime begin{}, end{};
};
inline constexpr Duration kMarginOfFault = std::chrono::minutes(30);

// Scores above the threshold of one place within this time count as one finding.
inline constexpr Duration kOneFinding = std::chrono::minutes(30);

// Without the scores at labelled faults and without values that are not finite; ordered by place and time, so
// that the order of the input has no influence.
[[nodiscard]] std::vector<Score> usable_scores(std::span<const Score> scores,
                                               std::span<const LabelledFault> faults);

enum class ThresholdMethod : std::uint8_t {
  conformal,  // an order statistic of the scores: split conformal, no assumption about their distribution
  tail,       // a generalised Pareto distribution of the scores above the 98 % quantile
};

struct Threshold {
  double value = 0;
  ThresholdMethod method = ThresholdMethod::conformal;
  double rate = 0;              // asked for each evaluation
  std::size_t scores = 0;       // learned from
  std::size_t excesses = 0;     // tail: independent ones above the 98 % quantile
  double shape = 0, scale = 0;  // tail: xi and sigma
};

inline constexpr std::size_t kLeastScores = 500;  // ten above the 98 % quantile

// `scores`: of usable_scores. With 10 / rate scores or more, the smallest score above which are at most
// rate * (n + 1) findings. Otherwise u + sigma / xi * ((rate * n / n_u)^-xi - 1), from the peaks of the n_u
// findings above u, the 98 % quantile; probability-weighted moments, xi within -0.2 and 0.5. `malformed`: a
// rate outside 0 and 1. `unavailable`: fewer than kLeastScores scores, or fewer than ten findings above u.
[[nodiscard]] Result<Threshold> learn_threshold(std::span<const Score> scores, double rate);

// A threshold in use, after an evaluation above it was confirmed as a false positive (`is_false_positive`) or
// an evaluation passed: log z += 0.05 * (error - rate), within 0.7 and 1.5 times the learned value. For
// thresholds above 0.
[[nodiscard]] double adapted(double current, const Threshold& learned, bool is_false_positive);

// True for checks whose findings are facts and no statistics: a GPU that fell off the bus, uncorrectable
// errors of memory, wrong results. No threshold is learned for them.
[[nodiscard]] bool is_hard_rule(std::string_view check);

// Of a threshold in use.
struct RealisedBudget {
  std::uint64_t findings = 0;  // false ones
  double node_days = 0;
  double per_1000_node_days = 0;
  double low = 0, high = 0;  // 95 %
};

// Number of findings of scores above the threshold, after kOneFinding. `scores`: of usable_scores.
[[nodiscard]] std::uint64_t findings_above(std::span<const Score> scores, double threshold);
// `malformed`: node_days is not above 0.
[[nodiscard]] Result<RealisedBudget> realised(std::uint64_t findings, double node_days);

}  // namespace autopilot::learning
