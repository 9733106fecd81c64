// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/hazard_evaluation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "learning/hazard/return_policy.hpp"

namespace autopilot::learning {
namespace {

constexpr std::array<double, 5> kWindowDays{1, 3, 7, 14, 28};
constexpr double kRankingStepDays = 7;
constexpr double kCalibrationDays = 7;
constexpr std::array<double, 1> kOneTimeConstant{3};  // days: the form before ADR 38

HistoryPart part_of(const FleetHistory& fleet, double from_day, double to_day) {
  return {from_day, to_day, begins_between(fleet, from_day, to_day), service_days(fleet, from_day, to_day)};
}

Status check_options(const FleetHistory& fleet, const HazardEvaluationOptions& options) {
  const double left = fleet.end_day - options.fit_until_day;
  const std::string day = std::to_string(options.fit_until_day);
  if (!std::isfinite(options.fit_until_day) || options.fit_until_day < 0 || left <= 0)
    return fail(Errc::malformed, "day " + day + " is not within the history, which ends on day " +
                                     std::to_string(fleet.end_day));
  if (!std::isfinite(options.horizon_days) || options.horizon_days <= 0 || left < options.horizon_days)
    return fail(Errc::malformed, std::to_string(left) + " days are left after day " + day +
                                     ", less than the horizon of " + std::to_string(options.horizon_days) +
                                     " days; fit until an earlier day, or shorten the horizon");
  if (begins_between(fleet, options.fit_until_day, fleet.end_day) == 0)
    return fail(Errc::unavailable, "no node fails after day " + day + ": there is nothing to judge");
  return {};
}

RankingPlan plan_of(const FleetHistory& fleet, const HazardEvaluationOptions& options) {
  RankingPlan plan;
  plan.horizon_days = options.horizon_days;
  plan.draws = options.draws;
  plan.seed = options.seed;
  for (double day = options.fit_until_day; day + options.horizon_days <= fleet.end_day;
       day += kRankingStepDays)
    plan.days.push_back(day);
  return plan;
}

double count_until(const NodeHistory& node, double day, double half_life) {
  double count = 0;
  for (const Episode& episode : node.episodes)
    if (episode.begin_day <= day) count += std::exp2(-(day - episode.begin_day) / half_life);
  return count;
}

std::vector<NodeScore> scores_of(const HazardModel& model, double rate_of_kind, double horizon) {
  constexpr double half_life = 28;
  const auto zero = [](double) { return 0.0; };
  return {
      {"hazard",
       [&model, horizon](const NodeHistory& node, double day) {
         return expected_faults(model, node, day, day + horizon);
       },
       [&model, horizon](double day) { return expected_faults_without_return(model, day, day + horizon); }},
      {"lemon score",
       [rate_of_kind](const NodeHistory& node, double day) {
         return lemon_score(node, day, rate_of_kind).faults_per_day;
       },
       [rate_of_kind](double day) { return lemon_score_without_fault(day, rate_of_kind).faults_per_day; }},
      {"last return", [](const NodeHistory& node, double day) { return last_return(node, day).value_or(-1); },
       [](double) { return -1.0; }},
      {"decayed count (28 d)",
       [](const NodeHistory& node, double day) { return count_until(node, day, half_life); }, zero},
      {"lifetime count",
       [](const NodeHistory& node, double day) {
         return count_until(node, day, std::numeric_limits<double>::infinity());
       },
       zero},
  };
}

// No trace names jobs, so the rule does not ask for them.
LemonCount count_lemons(const FleetHistory& fleet, double rate_of_kind, const RankingPlan& plan) {
  LemonRule rule;
  rule.fewest_jobs = 0;
  LemonCount count;
  for (const double day : plan.days) {
    std::vector<std::pair<double, bool>> lemons;  // probability, and whether a fault follows
    for (const NodeHistory& node : fleet.nodes) {
      const LemonScore score = lemon_score(node, day, rate_of_kind, rule);
      if (is_in_service(node, day) && is_lemon(score, 0, rule))
        lemons.emplace_back(score.probability, begins_between(node, day, day + plan.horizon_days) > 0);
    }
    std::ranges::stable_sort(lemons, std::ranges::greater{}, &std::pair<double, bool>::first);
    lemons.resize(std::min(lemons.size(), lemon_budget(fleet.node_count())));
    count.named += lemons.size();
    count.with_fault +=
        static_cast<std::size_t>(std::ranges::count_if(lemons, [](const auto& one) { return one.second; }));
  }
  return count;
}

void judge_windows(const FleetHistory& fleet, const HazardEvaluationOptions& options,
                   HazardEvaluation& result) {
  std::vector<double> lengths(kWindowDays.begin(), kWindowDays.end());
  lengths.push_back(result.learned_probation_days);
  for (const double days : lengths) {
    result.windows.push_back(
        return_window(fleet, days, options.fit_until_day, fleet.end_day, options.draws, options.seed));
    result.whole_windows.push_back(return_window(fleet, days, 0, fleet.end_day, options.draws, options.seed));
  }
}

void judge_models(const FleetHistory& fleet, double from_day, std::vector<ModelFit>& models) {
  const auto episodes = static_cast<double>(begins_between(fleet, from_day, fleet.end_day));
  const double constant = log_likelihood(models.back().model, fleet, from_day, fleet.end_day);
  for (ModelFit& fit : models)
    fit.gain_per_fault = (log_likelihood(fit.model, fleet, from_day, fleet.end_day) - constant) / episodes;
}

}  // namespace

double HistoryPart::mtbf_days() const {
  return episodes > 0 ? service_days / static_cast<double>(episodes) : 0;
}

Result<std::vector<ModelFit>> fit_models(const FleetHistory& fleet, double until_day) {
  HazardModel several = TRY(fit_hazard(fleet, until_day));
  HazardModel one = TRY(fit_hazard(fleet, until_day, kOneTimeConstant));
  HazardModel constant = TRY(fit_hazard(fleet, until_day, {}));
  std::vector<ModelFit> models;
  models.push_back({"several time constants", std::move(several), 0});
  models.push_back({"one time constant", std::move(one), 0});
  models.push_back({"constant rate", std::move(constant), 0});
  return models;
}

Result<HazardEvaluation> evaluate_hazard(const FleetHistory& fleet, const HazardEvaluationOptions& options) {
  TRY_STATUS(check_options(fleet, options));
  std::vector<ModelFit> models = TRY(fit_models(fleet, options.fit_until_day));
  return evaluate_hazard(fleet, std::move(models), options);
}

Result<HazardEvaluation> evaluate_hazard(const FleetHistory& fleet, std::vector<ModelFit> models,
                                         const HazardEvaluationOptions& options) {
  TRY_STATUS(check_options(fleet, options));
  HazardEvaluation result;
  result.models = std::move(models);
  result.whole = part_of(fleet, 0, fleet.end_day);
  result.fitted = part_of(fleet, 0, options.fit_until_day);
  result.judged = part_of(fleet, options.fit_until_day, fleet.end_day);
  result.nodes = fleet.node_count();
  result.nodes_with_fault = fleet.nodes.size();
  result.open_at_end = static_cast<std::size_t>(std::ranges::count_if(
      fleet.nodes, [](const NodeHistory& node) { return !node.episodes.back().end_day; }));
  const HazardModel& model = result.models.front().model;
  const double rate_of_kind = result.models.back().model.base_per_day;
  result.learned_probation_days = learned_probation_days(model, rate_of_kind);
  judge_windows(fleet, options, result);
  judge_models(fleet, options.fit_until_day, result.models);
  const RankingPlan plan = plan_of(fleet, options);
  result.horizon_days = options.horizon_days;
  result.ranking_days = plan.days.size();
  for (const NodeScore& score : scores_of(model, rate_of_kind, options.horizon_days))
    result.rankings.push_back(judge_ranking(fleet, score, plan));
  result.lemons = count_lemons(fleet, rate_of_kind, plan);
  result.calibration = calibrate(fleet, model, kCalibrationDays, options.fit_until_day, fleet.end_day,
                                 options.draws, options.seed);
  return result;
}

}  // namespace autopilot::learning
