// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/lemon.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string_view>

#include "core/intervals.hpp"

namespace autopilot::learning {
namespace {

// Integral of the weight 0.5^(age / half-life) over an interval.
double decayed_days(const ServiceInterval& interval, double day, double half_life) {
  const double scale = half_life / std::numbers::ln2;
  return scale * (std::exp((interval.to_day - day) / scale) - std::exp((interval.from_day - day) / scale));
}

LemonScore score_of(double faults, double days, double rate_of_kind, const LemonRule& rule) {
  const double shape = rule.prior_faults + std::max(0.0, faults);
  const double rate = rule.prior_faults / rate_of_kind + days;
  return {shape / rate, upper_gamma(shape, rate * rule.ratio * rate_of_kind)};
}

}  // namespace

double lemon_weight(const Episode& episode) {
  constexpr double no_fault_found = -0.25;
  constexpr double suspected = 0.5;
  if (episode.is_cleared) return no_fault_found;
  switch (episode.kind) {
    case FaultClass::hardware:
    case FaultClass::network:
    case FaultClass::unknown:  // recurs as often as hardware in the StepFun trace: docs/learning.md
      return 1;
    case FaultClass::software:
      return suspected;
    case FaultClass::application:
      break;
  }
  return 0;
}

LemonScore lemon_score(const NodeHistory& node, double day, double rate_of_kind, const LemonRule& rule) {
  double faults = 0;
  for (const Episode& episode : node.episodes)
    if (episode.begin_day <= day)
      faults += lemon_weight(episode) * std::exp2(-(day - episode.begin_day) / rule.half_life_days);
  double days = 0;
  for (const ServiceInterval& interval : service_intervals(node, 0, day))
    days += decayed_days(interval, day, rule.half_life_days);
  return score_of(faults, days, rate_of_kind, rule);
}

LemonScore lemon_score_without_fault(double day, double rate_of_kind, const LemonRule& rule) {
  return score_of(0, decayed_days({0, day}, day, rule.half_life_days), rate_of_kind, rule);
}

std::size_t jobs_hit(const NodeHistory& node, double day) {
  std::set<std::string_view> jobs;
  for (const Episode& episode : node.episodes)
    if (episode.begin_day <= day) jobs.insert(episode.jobs.begin(), episode.jobs.end());
  return jobs.size();
}

bool is_lemon(const LemonScore& score, std::size_t jobs, const LemonRule& rule) {
  return score.probability > rule.probability && jobs >= rule.fewest_jobs;
}

}  // namespace autopilot::learning
