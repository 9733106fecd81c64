// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "learning/hazard/episodes.hpp"

// The hazard of a node: a rate that all nodes of a kind share, and an excess after each return to service,
// which decays. docs/learning.md explains the model, docs/adr/0038 why it has this form.
namespace autopilot::learning {

// Excess after one return: `faults` / `days` * exp(-(time since the return) / `days`) faults per day.
struct HazardTerm {
  double days = 0;    // time constant
  double faults = 0;  // expected further faults after one return
};

struct HazardModel {
  double base_per_day = 0;  // of a node that has never failed
  std::vector<HazardTerm> terms;
};

// Time constants of the excess in days, and the prior of each term: `kPriorReturns` further returns after
// which `kPriorFaultsOfTerm` faults followed. Chosen by cross-validation over nodes, and by forecasts, within
// the first half of the public trace (docs/adr/0038).
inline constexpr std::array<double, 4> kTimeConstants{0.05, 0.3, 3, 30};
inline constexpr double kPriorReturns = 50;
inline constexpr double kPriorFaultsOfTerm = 5;

// The model that makes the episodes from day 0 to `until_day` most likely, given the prior
// (expectation-maximisation). What happens after `until_day` is not used.
// unavailable: fewer than kFewestEpisodes episodes, or no day in service.
inline constexpr std::size_t kFewestEpisodes = 20;
[[nodiscard]] Result<HazardModel> fit_hazard(const FleetHistory& fleet, double until_day,
                                             std::span<const double> time_constants = kTimeConstants);

// Faults per day of a node in service, from its returns until `day`.
[[nodiscard]] double hazard_at(const HazardModel& model, const NodeHistory& node, double day);
// Expected faults of a node in service from `from_day` until `to_day` or until its next fault, from its
// returns until `from_day`.
[[nodiscard]] double expected_faults(const HazardModel& model, const NodeHistory& node, double from_day,
                                     double to_day);
// The same of a node that has not failed. Exactly the same number for a node without a return until
// `from_day`.
[[nodiscard]] double expected_faults_without_return(const HazardModel& model, double from_day, double to_day);
// Expected begins of episodes of all nodes in `from_day` to `to_day`, while each is in service.
[[nodiscard]] double expected_faults_in_service(const HazardModel& model, const FleetHistory& fleet,
                                                double from_day, double to_day);
// Probability of a fault, 0 to 1, if that many are expected until the first.
[[nodiscard]] double probability_of_fault(double expected);

// Natural logarithm of the likelihood of the episodes that begin after `from_day` and not after `to_day`.
[[nodiscard]] double log_likelihood(const HazardModel& model, const FleetHistory& fleet, double from_day,
                                    double to_day);

// Days after the first return of a node until its hazard is `per_day` faults, at most `longest_days`.
[[nodiscard]] double days_above(const HazardModel& model, double per_day, double longest_days);

}  // namespace autopilot::learning
