// SPDX-License-Identifier: Apache-2.0
#include "learning/values/likelihood_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace autopilot::learning {
namespace {

constexpr double kHalfLifeDays = 180;
constexpr double kMostLogOdds = 4;

double weight_of(const SettledFault& fault, WallTime now) {
  const double days = std::max(0.0, to_seconds(now - fault.time) / 86400);
  return std::pow(0.5, days / kHalfLifeDays);
}

double smoothed(double with, double all) {
  return (with + 1) / (all + 2);
}

}  // namespace

LikelihoodRatio likelihood_ratio_of(std::span<const SignalCase> cases, WallTime now) {
  std::vector<const SignalCase*> ordered;
  for (const SignalCase& one : cases)
    if (one.fault.trust >= kLeastTrust) ordered.push_back(&one);
  // Sums of floating point depend on their order.
  std::ranges::sort(ordered, {}, [](const SignalCase* one) { return one->fault.fault; });
  LikelihoodRatio ratio;
  for (const SignalCase* one : ordered) {
    const double weight = weight_of(one->fault, now);
    const bool is_faulty = one->fault.answer == LabelAnswer::faulty;
    if (!is_faulty && one->fault.answer != LabelAnswer::healthy) continue;
    (is_faulty ? ratio.faulty : ratio.healthy) += weight;
    if (one->has_signal) (is_faulty ? ratio.faulty_with : ratio.healthy_with) += weight;
  }
  const double odds = smoothed(ratio.faulty_with, ratio.faulty) / smoothed(ratio.healthy_with, ratio.healthy);
  ratio.log_odds = std::clamp(std::log(odds), -kMostLogOdds, kMostLogOdds);
  return ratio;
}

}  // namespace autopilot::learning
