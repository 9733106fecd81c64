// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "learning/hazard/calibration.hpp"
#include "learning/hazard/episodes.hpp"
#include "learning/hazard/hazard_model.hpp"
#include "learning/hazard/lemon.hpp"
#include "learning/hazard/ranking.hpp"
#include "learning/hazard/return_windows.hpp"

// Fits the hazard on one part of a history and judges it on the rest. Pure and deterministic.
namespace autopilot::learning {

struct HazardEvaluationOptions {
  double fit_until_day = 0;  // the fit uses nothing after it, and it judges what is after it
  double horizon_days = 28;  // of the ranking
  std::size_t draws = 1000;  // of each bootstrap interval
  std::uint64_t seed = 1;
};

// Faults of a part of the history.
struct HistoryPart {
  double from_day = 0;
  double to_day = 0;
  std::size_t episodes = 0;  // that begin in it
  double service_days = 0;   // of all nodes
  // service_days / episodes; 0 without an episode
  [[nodiscard]] double mtbf_days() const;
};

// How well a model predicts the times of the faults in the judged part.
struct ModelFit {
  std::string name;
  HazardModel model;
  double gain_per_fault = 0;  // log-likelihood above the constant rate, in nats
};

// Nodes that the lemon rule names on the days of the ranking, within the budget of the fleet.
struct LemonCount {
  std::size_t named = 0;       // on all days together
  std::size_t with_fault = 0;  // of them, with a fault within the horizon
};

struct HazardEvaluation {
  HistoryPart whole, fitted, judged;
  std::size_t nodes = 0;
  std::size_t nodes_with_fault = 0;
  std::size_t open_at_end = 0;  // nodes that are not in service at the end of the history
  // The first is the model of all other figures, the last has a constant rate.
  std::vector<ModelFit> models;
  double learned_probation_days = 0;
  std::vector<ReturnWindow> windows;        // of the judged part; the last has the learned length
  std::vector<ReturnWindow> whole_windows;  // of the whole history, of the same lengths
  double horizon_days = 0;                  // of the ranking and the lemons
  std::size_t ranking_days = 0;
  std::vector<RankingResult> rankings;  // by the hazard, the lemon score and the baselines
  LemonCount lemons;
  Calibration calibration;
};

// malformed: fit_until_day is not within the history, or less than a horizon is left to judge.
// unavailable: too few faults to fit, or no fault to judge.
[[nodiscard]] Result<HazardEvaluation> evaluate_hazard(const FleetHistory& fleet,
                                                       const HazardEvaluationOptions& options);
// The same with the models of fit_models for another history; judges what is after `fit_until_day`.
[[nodiscard]] Result<HazardEvaluation> evaluate_hazard(const FleetHistory& fleet,
                                                       std::vector<ModelFit> models,
                                                       const HazardEvaluationOptions& options);
// The model, the form with one time constant, and a constant rate.
[[nodiscard]] Result<std::vector<ModelFit>> fit_models(const FleetHistory& fleet, double until_day);

}  // namespace autopilot::learning
