// SPDX-License-Identifier: Apache-2.0
#include "learning/threshold/threshold.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "learning/intervals/intervals.hpp"

namespace autopilot::learning {
namespace {

constexpr double kDays = 1000;  // of a budget
constexpr double kLeastFindings = 10;
constexpr double kTailQuantile = 0.98;
constexpr double kLeastShape = -0.2;
constexpr double kMostShape = 0.5;

using FaultsOfPlaces = std::map<std::string_view, std::vector<const LabelledFault*>>;

bool is_at_fault(const Score& score, const FaultsOfPlaces& faults) {
  const auto found = faults.find(score.place);
  return found != faults.end() && std::ranges::any_of(found->second, [&](const LabelledFault* fault) {
           return score.time >= fault->begin - kMarginOfFault && score.time <= fault->end + kMarginOfFault;
         });
}

bool is_earlier_score(const Score& a, const Score& b) {
  return std::tie(a.place, a.time, a.value) < std::tie(b.place, b.time, b.value);
}

// The largest score of each finding above the threshold.
std::vector<double> peaks_above(std::span<const Score> scores, double threshold) {
  std::vector<double> peaks;
  const Score* first = nullptr;  // of the finding
  for (const Score& score : scores) {
    if (score.value <= threshold) continue;
    const bool is_same =
        first != nullptr && first->place == score.place && score.time - first->time < kOneFinding;
    if (!is_same) {
      first = &score;
      peaks.push_back(score.value);
    }
    peaks.back() = std::max(peaks.back(), score.value);
  }
  return peaks;
}

std::vector<double> sorted_values(std::span<const Score> scores) {
  std::vector<double> values;
  for (const Score& score : scores)
    values.push_back(score.value);
  std::ranges::sort(values);
  return values;
}

Threshold conformal_threshold(std::span<const Score> scores, const std::vector<double>& values, double rate) {
  const auto allowed = static_cast<std::uint64_t>(rate * (static_cast<double>(values.size()) + 1));
  const auto smallest = std::ranges::partition_point(
      values, [&](double value) { return findings_above(scores, value) > allowed; });
  return {.value = *smallest, .method = ThresholdMethod::conformal, .rate = rate, .scores = scores.size()};
}

struct Pareto {
  double shape = 0, scale = 0;
};

// `excesses` above 0.
Pareto fit_pareto(std::vector<double> excesses) {
  std::ranges::sort(excesses);
  const auto count = static_cast<double>(excesses.size());
  double mean = 0;
  double weighted = 0;  // by the probability to be above
  for (std::size_t i = 0; i < excesses.size(); ++i) {
    constexpr double kPlotting = 0.65;  // position (i + 1 - 0.35) / n of Hosking and Wallis
    mean += excesses[i] / count;
    weighted += excesses[i] * (1 - (static_cast<double>(i) + kPlotting) / count) / count;
  }
  const double shape = std::clamp(2 - mean / (mean - 2 * weighted), kLeastShape, kMostShape);
  return {shape, mean * (1 - shape)};
}

Result<Threshold> tail_threshold(std::span<const Score> scores, const std::vector<double>& values,
                                 double rate) {
  const auto count = static_cast<double>(values.size());
  const double begin = values[static_cast<std::size_t>(kTailQuantile * (count - 1))];
  std::vector<double> excesses = peaks_above(scores, begin);
  if (static_cast<double>(excesses.size()) < kLeastFindings)
    return fail(Errc::unavailable,
                std::to_string(excesses.size()) +
                    " independent scores are above the 98 % quantile; a threshold needs 10. "
                    "Wait for more scores");
  for (double& excess : excesses)
    excess -= begin;
  const Pareto tail = fit_pareto(excesses);
  const double share = std::min(1.0, rate * count / static_cast<double>(excesses.size()));
  constexpr double kNoShape = 1e-6;
  const double above = std::abs(tail.shape) < kNoShape
                           ? -tail.scale * std::log(share)
                           : tail.scale / tail.shape * (std::pow(share, -tail.shape) - 1);
  return Threshold{begin + above, ThresholdMethod::tail, rate, scores.size(), excesses.size(), tail.shape,
                   tail.scale};
}

}  // namespace

Result<double> rate_of(const Budget& budget) {
  const double rate = budget.findings / (kDays * budget.evaluations);
  if (!(budget.findings > 0) || !(budget.evaluations > 0) || !std::isfinite(rate) || rate >= 1 || rate <= 0)
    return fail(Errc::malformed,
                "a budget of " + std::to_string(budget.findings) +
                    " false findings for 1000 node-days with " + std::to_string(budget.evaluations) +
                    " evaluations a day; both must be above 0, and the budget below the evaluations");
  return rate;
}

std::vector<Score> usable_scores(std::span<const Score> scores, std::span<const LabelledFault> faults) {
  FaultsOfPlaces of_places;
  for (const LabelledFault& fault : faults)
    of_places[fault.place].push_back(&fault);
  std::vector<Score> usable;
  for (const Score& score : scores)
    if (std::isfinite(score.value) && !is_at_fault(score, of_places)) usable.push_back(score);
  std::ranges::sort(usable, is_earlier_score);
  return usable;
}

std::uint64_t findings_above(std::span<const Score> scores, double threshold) {
  return peaks_above(scores, threshold).size();
}

Result<Threshold> learn_threshold(std::span<const Score> scores, double rate) {
  if (!(rate > 0 && rate < 1))
    return fail(Errc::malformed, "the rate of false positives is " + std::to_string(rate) +
                                     "; it must be above 0 and below 1");
  if (scores.size() < kLeastScores)
    return fail(Errc::unavailable, std::to_string(scores.size()) +
                                       " scores of healthy places; a threshold needs " +
                                       std::to_string(kLeastScores) + ". Wait for more scores");
  const std::vector<double> values = sorted_values(scores);
  if (static_cast<double>(values.size()) >= kLeastFindings / rate)
    return conformal_threshold(scores, values, rate);
  return tail_threshold(scores, values, rate);
}

double adapted(double current, const Threshold& learned, bool is_false_positive) {
  constexpr double kStep = 0.05;
  constexpr double kLowest = 0.7;
  constexpr double kHighest = 1.5;
  if (!(current > 0) || !(learned.value > 0)) return learned.value;
  const double error = is_false_positive ? 1 : 0;
  return std::clamp(current * std::exp(kStep * (error - learned.rate)), kLowest * learned.value,
                    kHighest * learned.value);
}

bool is_hard_rule(std::string_view check) {
  constexpr std::array<std::string_view, 9> kHardRules{"gpu.present",     "gpu.driver", "gpu.ecc",
                                                       "gpu.row_remap",   "gpu.sdc",    "gpu.diagnosis",
                                                       "gpu.memory_test", "gpu.xid",    "host.machine_check"};
  return std::ranges::find(kHardRules, check) != kHardRules.end();
}

Result<RealisedBudget> realised(std::uint64_t findings, double node_days) {
  if (!(node_days > 0) || !std::isfinite(node_days))
    return fail(Errc::malformed, "realised false findings need node-days above 0");
  const Interval bounds = count_bounds(findings);
  const double scale = kDays / node_days;
  return RealisedBudget{findings, node_days, static_cast<double>(findings) * scale, bounds.low * scale,
                        bounds.high * scale};
}

}  // namespace autopilot::learning
