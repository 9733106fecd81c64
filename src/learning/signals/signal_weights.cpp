// SPDX-License-Identifier: Apache-2.0
#include "learning/signals/signal_weights.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "learning/values/labels.hpp"

namespace autopilot::learning {
namespace {

constexpr double kMostWeight = 4;
constexpr double kLowestPrior = 0.01;
constexpr double kHighestPrior = 0.3;
constexpr double kWeightDeviation = 1;
constexpr double kPriorDeviation = 0.5;
constexpr double kNormal95 = 1.96;
// Trust of a label that a person states without a test.
constexpr double kTrustOfPeople = 0.75;
constexpr double kStrongEvidence = 0.95;
constexpr double kMostContradictions = 0.25;

double odds_of(double probability) {
  return std::log(probability / (1 - probability));
}

double probability_of(double odds) {
  return 1 / (1 + std::exp(-odds));
}

// One value that is fitted; the first one of a fit is the prior, in log odds.
struct Parameter {
  std::string signal;  // empty: the prior
  double shipped = 0;
  double value = 0;
  double deviation = kWeightDeviation;  // of the normal prior around `shipped`
  double least = -kMostWeight, most = kMostWeight;
  bool is_free = false;
  double curvature = 1;  // of the log likelihood at the end of the fit
  std::size_t findings = 0;
  std::set<std::string> places;

  [[nodiscard]] double half_width() const { return kNormal95 / std::sqrt(curvature); }
};

struct FitCase {
  std::vector<std::size_t> parameters;  // that add to its log odds
  bool is_faulty = false;
  double trust = 0;
};

class WeightFit {
 public:
  WeightFit(std::span<const SignalInUse> signals, double prior) {
    parameters_.push_back({.signal = {},
                           .shipped = odds_of(prior),
                           .value = odds_of(prior),
                           .deviation = kPriorDeviation,
                           .least = odds_of(kLowestPrior),
                           .most = odds_of(kHighestPrior)});
    for (const SignalInUse& signal : signals) {
      positions_[signal.signal] = parameters_.size();
      fixed_.push_back(signal.is_fixed);
      parameters_.push_back({.signal = signal.signal, .shipped = signal.log_odds, .value = signal.log_odds});
    }
  }

  void add(const SignalFinding& finding) {
    FitCase& one = cases_.emplace_back();
    one.is_faulty = finding.answer == LabelAnswer::faulty;
    one.trust = finding.trust;
    one.parameters.push_back(0);
    const std::set<std::string> signals(finding.signals.begin(), finding.signals.end());
    for (const std::string& signal : signals)
      if (const auto known = positions_.find(signal); known != positions_.end())
        one.parameters.push_back(known->second);
    for (const std::size_t at : one.parameters) {
      ++parameters_[at].findings;
      parameters_[at].places.insert(finding.place);
    }
  }

  // Of findings with strong evidence, the share that people label healthy is too large.
  [[nodiscard]] bool is_contradicted(std::size_t& strong, std::size_t& healthy) const {
    strong = healthy = 0;
    for (const FitCase& one : cases_) {
      if (one.trust > kTrustOfPeople || probability_of(odds(one)) < kStrongEvidence) continue;
      ++strong;
      if (!one.is_faulty) ++healthy;
    }
    return strong >= kLeastOfAnswer &&
           static_cast<double>(healthy) > kMostContradictions * static_cast<double>(strong);
  }

  void run() {
    parameters_[0].is_free = true;
    for (std::size_t at = 1; at < parameters_.size(); ++at)
      parameters_[at].is_free = !fixed_[at - 1] && parameters_[at].findings >= kLeastWithSignal &&
                                parameters_[at].places.size() >= kLeastPlacesOfSignal;
    maximise();
    // What may as well be the value in use stays it; the rest is fitted again beside it.
    for (Parameter& one : parameters_) {
      one.is_free = one.is_free && std::abs(one.value - one.shipped) > one.half_width();
      one.value = one.shipped;
    }
    maximise();
  }

  [[nodiscard]] LearnedSignals learned() const {
    LearnedSignals learned;
    if (parameters_[0].is_free) learned.prior = probability_of(parameters_[0].value);
    for (const Parameter& one : parameters_) {
      if (!one.is_free || one.signal.empty()) continue;
      learned.weights.push_back({.signal = one.signal,
                                 .log_odds = one.value,
                                 .low = std::max(-kMostWeight, one.value - one.half_width()),
                                 .high = std::min(kMostWeight, one.value + one.half_width()),
                                 .findings = one.findings});
    }
    std::ranges::sort(learned.weights, {}, &LearnedWeight::signal);
    return learned;
  }

 private:
  [[nodiscard]] double odds(const FitCase& one) const {
    double sum = 0;
    for (const std::size_t at : one.parameters)
      sum += parameters_[at].value;
    return sum;
  }

  // Expectation-maximisation: the probability that each finding is right, given its label; then one Newton
  // step for each parameter.
  void maximise() {
    constexpr int kSweeps = 300;
    constexpr double kLongestStep = 0.5;
    std::vector<double> right(cases_.size());
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (std::size_t i = 0; i < cases_.size(); ++i)
        right[i] = probability_right(cases_[i]);
      for (std::size_t at = 0; at < parameters_.size(); ++at) {
        Parameter& one = parameters_[at];
        if (!one.is_free) continue;
        const double tightness = 1 / (one.deviation * one.deviation);
        double slope = (one.shipped - one.value) * tightness;
        one.curvature = tightness;
        for (std::size_t i = 0; i < cases_.size(); ++i) {
          if (std::ranges::find(cases_[i].parameters, at) == cases_[i].parameters.end()) continue;
          const double probability = probability_of(odds(cases_[i]));
          slope += right[i] - probability;
          one.curvature += probability * (1 - probability);
        }
        const double step = std::clamp(slope / one.curvature, -kLongestStep, kLongestStep);
        one.value = std::clamp(one.value + step, one.least, one.most);
      }
    }
  }

  [[nodiscard]] double probability_right(const FitCase& one) const {
    const double probability = probability_of(odds(one));
    const double if_right = one.is_faulty ? one.trust : 1 - one.trust;
    const double joint = if_right * probability;
    return joint / (joint + (1 - if_right) * (1 - probability));
  }

  std::vector<Parameter> parameters_;
  std::vector<bool> fixed_;  // by parameter, without the prior
  std::map<std::string, std::size_t, std::less<>> positions_;
  std::vector<FitCase> cases_;
};

// Of findings that labels settle, the share about which sources disagree is too large.
Status check_disputes(std::span<const SignalFinding* const> findings) {
  const auto disputed = static_cast<std::size_t>(
      std::ranges::count_if(findings, [](const SignalFinding* one) { return one->is_disputed; }));
  if (disputed < kLeastOfAnswer ||
      static_cast<double>(disputed) <= kMostContradictions * static_cast<double>(findings.size()))
    return {};
  return fail(Errc::conflict, std::to_string(disputed) + " of " + std::to_string(findings.size()) +
                                  " findings have labels that contradict each other. Check them and state "
                                  "the right answer with: autopilot jobs feedback");
}

Status check_counts(std::span<const SignalFinding* const> findings) {
  const auto faulty = static_cast<std::size_t>(std::ranges::count_if(
      findings, [](const SignalFinding* one) { return one->answer == LabelAnswer::faulty; }));
  const std::size_t healthy = findings.size() - faulty;
  if (findings.size() >= kLeastLabelled && faulty >= kLeastOfAnswer && healthy >= kLeastOfAnswer) return {};
  return fail(Errc::unavailable,
              std::to_string(faulty) + " findings are labelled faulty and " + std::to_string(healthy) +
                  " healthy; weights need " + std::to_string(kLeastLabelled) + " in all and " +
                  std::to_string(kLeastOfAnswer) + " of each. State more with: autopilot jobs feedback");
}

}  // namespace

Result<LearnedSignals> learn_weights(std::span<const SignalInUse> signals, double prior,
                                     std::span<const SignalFinding> findings) {
  std::vector<const SignalFinding*> settled;
  for (const SignalFinding& one : findings)
    if (one.trust >= kLeastTrust && one.answer != LabelAnswer::unclear) settled.push_back(&one);
  // Sums of floating point depend on their order.
  std::ranges::sort(settled, [](const SignalFinding* a, const SignalFinding* b) {
    return std::pair(a->time, a->finding) < std::pair(b->time, b->finding);
  });
  WeightFit fit(signals, prior);
  for (const SignalFinding* one : settled)
    fit.add(*one);
  std::size_t strong = 0;
  std::size_t healthy = 0;
  if (fit.is_contradicted(strong, healthy))
    return fail(Errc::conflict, "people label " + std::to_string(healthy) + " of " + std::to_string(strong) +
                                    " findings with strong evidence as healthy. Check these labels, or "
                                    "confirm them with a repeated test");
  TRY_STATUS(check_disputes(settled));
  TRY_STATUS(check_counts(settled));
  fit.run();
  return fit.learned();
}

}  // namespace autopilot::learning
