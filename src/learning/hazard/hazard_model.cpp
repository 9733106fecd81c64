// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/hazard_model.hpp"

#include <cmath>
#include <numeric>
#include <string>

namespace autopilot::learning {
namespace {

constexpr int kMostFitRounds = 500;
constexpr double kFitTolerance = 1e-7;  // relative change of the parameters that ends the fit

// What the fit needs of a history.
struct FitInput {
  double service_days = 0;
  std::vector<std::vector<double>> lags;  // of each episode: days since each earlier return
  std::vector<double> exposures;          // of each term: expected faults if `faults` were 1
};

// Returns of the node that are not after `day`.
template <class Visit>
void visit_returns(const NodeHistory& node, double day, Visit visit) {
  for (const Episode& episode : node.episodes) {
    if (!episode.end_day || *episode.end_day > day) return;
    visit(*episode.end_day);
  }
}

// Share of the excess of a return that falls `from` to `to` days after it.
double share_of_excess(double time_constant, double from, double to) {
  return std::exp(-from / time_constant) - std::exp(-to / time_constant);
}

FitInput input_of(const FleetHistory& fleet, double until_day, std::span<const double> time_constants) {
  FitInput input;
  input.service_days = service_days(fleet, 0, until_day);
  input.exposures.assign(time_constants.size(), 0);
  for (const NodeHistory& node : fleet.nodes) {
    for (const ServiceInterval& interval : service_intervals(node, 0, until_day))
      visit_returns(node, interval.from_day, [&](double end) {
        for (std::size_t i = 0; i < time_constants.size(); ++i)
          input.exposures[i] +=
              share_of_excess(time_constants[i], interval.from_day - end, interval.to_day - end);
      });
    for (const Episode& episode : node.episodes) {
      if (episode.begin_day > until_day) break;
      auto& lags = input.lags.emplace_back();
      visit_returns(node, episode.begin_day, [&](double end) { lags.push_back(episode.begin_day - end); });
    }
  }
  return input;
}

// Expected number of episodes that the base and each term cause.
struct Shares {
  double base = 0;
  std::vector<double> terms;
};

double excess_at(const HazardTerm& term, std::span<const double> lags) {
  double sum = 0;
  for (const double lag : lags)
    sum += std::exp(-lag / term.days);
  return sum * term.faults / term.days;
}

Shares shares_of(const HazardModel& model, const FitInput& input) {
  Shares shares{0, std::vector<double>(model.terms.size())};
  std::vector<double> excess(model.terms.size());
  for (const auto& lags : input.lags) {
    for (std::size_t i = 0; i < excess.size(); ++i)
      excess[i] = excess_at(model.terms[i], lags);
    const double hazard = std::accumulate(excess.begin(), excess.end(), model.base_per_day);
    shares.base += model.base_per_day / hazard;
    for (std::size_t i = 0; i < excess.size(); ++i)
      shares.terms[i] += excess[i] / hazard;
  }
  return shares;
}

// One round of expectation-maximisation. Returns the largest relative change of a rate.
double improve(HazardModel& model, const FitInput& input) {
  const Shares shares = shares_of(model, input);
  const double before = model.base_per_day;
  model.base_per_day = shares.base / input.service_days;
  double change = std::abs(model.base_per_day / before - 1);
  for (std::size_t i = 0; i < model.terms.size(); ++i) {
    const double faults = (kPriorFaultsOfTerm + shares.terms[i]) / (kPriorReturns + input.exposures[i]);
    change = std::max(change, std::abs(faults - model.terms[i].faults));
    model.terms[i].faults = faults;
  }
  return change;
}

}  // namespace

Result<HazardModel> fit_hazard(const FleetHistory& fleet, double until_day,
                               std::span<const double> time_constants) {
  const FitInput input = input_of(fleet, until_day, time_constants);
  if (input.lags.size() < kFewestEpisodes || input.service_days <= 0)
    return fail(Errc::unavailable, std::to_string(input.lags.size()) + " faults until day " +
                                       std::to_string(until_day) + "; a hazard model needs at least " +
                                       std::to_string(kFewestEpisodes) + ". Fit on a longer part");
  // Half of the episodes are the excess, in equal parts: no term begins at zero, where it would remain.
  constexpr double half = 0.5;
  HazardModel model{half * static_cast<double>(input.lags.size()) / input.service_days, {}};
  for (const double days : time_constants)
    model.terms.push_back({days, half / static_cast<double>(time_constants.size())});
  for (int round = 0; round < kMostFitRounds; ++round)
    if (improve(model, input) < kFitTolerance) break;
  return model;
}

double hazard_at(const HazardModel& model, const NodeHistory& node, double day) {
  double hazard = model.base_per_day;
  visit_returns(node, day, [&](double end) {
    for (const HazardTerm& term : model.terms)
      hazard += term.faults / term.days * std::exp(-(day - end) / term.days);
  });
  return hazard;
}

double expected_faults_without_return(const HazardModel& model, double from_day, double to_day) {
  return model.base_per_day * (to_day - from_day);
}

double expected_faults(const HazardModel& model, const NodeHistory& node, double from_day, double to_day) {
  double expected = expected_faults_without_return(model, from_day, to_day);
  visit_returns(node, from_day, [&](double end) {
    for (const HazardTerm& term : model.terms)
      expected += term.faults * share_of_excess(term.days, from_day - end, to_day - end);
  });
  return expected;
}

double expected_faults_in_service(const HazardModel& model, const FleetHistory& fleet, double from_day,
                                  double to_day) {
  double expected =
      expected_faults_without_return(model, from_day, to_day) * static_cast<double>(fleet.without_fault);
  for (const NodeHistory& node : fleet.nodes)
    for (const ServiceInterval& interval : service_intervals(node, from_day, to_day))
      expected += expected_faults(model, node, interval.from_day, interval.to_day);
  return expected;
}

double probability_of_fault(double expected) {
  return -std::expm1(-expected);
}

double log_likelihood(const HazardModel& model, const FleetHistory& fleet, double from_day, double to_day) {
  double sum = -expected_faults_in_service(model, fleet, from_day, to_day);
  for (const NodeHistory& node : fleet.nodes)
    for (const Episode& episode : node.episodes)
      if (episode.begin_day > from_day && episode.begin_day <= to_day)
        sum += std::log(hazard_at(model, node, episode.begin_day));
  return sum;
}

double days_above(const HazardModel& model, double per_day, double longest_days) {
  const NodeHistory returned{"", {{0, 0.0, FaultClass::unknown, false, {}}}};
  const auto is_above = [&](double day) { return hazard_at(model, returned, day) > per_day; };
  if (is_above(longest_days)) return longest_days;
  if (!is_above(0)) return 0;
  double low = 0;
  double high = longest_days;
  constexpr int rounds = 40;
  for (int i = 0; i < rounds; ++i)
    (is_above((low + high) / 2) ? low : high) = (low + high) / 2;
  return low;
}

}  // namespace autopilot::learning
