// SPDX-License-Identifier: Apache-2.0
#include "learning_rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <variant>

#include "learning/baseline/baseline.hpp"

namespace autopilot::learning::bench {
namespace {

constexpr std::array<std::string_view, 5> kRules{"baseline", "no_repeats", "mean_5", "iqr_15", "iqr_30"};

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class BaselineRule : public NodeRule {
 public:
  BaselineRule(Baseline baseline, int repeats) : baseline_(std::move(baseline)), repeats_(repeats) {}

  [[nodiscard]] double score(FleetNode node, Fleet& fleet) const override {
    int repeats = kMostRepeats - repeats_;
    BaselineJudgement judgement = judge_node(baseline_, node.values, repeats);
    while (judgement.verdict == BaselineVerdict::repeat) {
      fleet.measure(node);
      judgement = judge_node(baseline_, node.values, ++repeats);
    }
    return judgement.shortfall / judgement.limit;
  }

 private:
  Baseline baseline_;
  int repeats_;
};

// A node fails below `centre - margin`.
class CutRule : public NodeRule {
 public:
  CutRule(double centre, double margin) : centre_(centre), margin_(margin) {}

  [[nodiscard]] double score(FleetNode node, Fleet& /*fleet*/) const override {
    return (centre_ - mean_of(node.values)) / margin_;
  }

 private:
  double centre_, margin_;
};

std::vector<double> means_of(std::span<const FleetNode> fleet) {
  std::vector<double> means;
  for (const FleetNode& node : fleet)
    means.push_back(mean_of(node.values));
  std::ranges::sort(means);
  return means;
}

std::unique_ptr<NodeRule> learn_mean(std::span<const FleetNode> fleet) {
  constexpr double kCut = 0.05;
  std::vector<double> means = means_of(fleet);
  std::size_t dropped = 1;
  while (dropped > 0) {
    const double cut = (1 - kCut) * mean_of(means);
    dropped = std::erase_if(means, [&](double mean) { return mean < cut; });
  }
  return std::make_unique<CutRule>(mean_of(means), kCut * mean_of(means));
}

std::unique_ptr<NodeRule> learn_iqr(std::span<const FleetNode> fleet, double ranges) {
  const std::vector<double> means = means_of(fleet);
  const double first = means[means.size() / 4];
  const double third = means[3 * means.size() / 4];
  return std::make_unique<CutRule>(first, ranges * (third - first));
}

std::optional<Reference> learned_reference(std::span<const FleetNode> fleet) {
  std::vector<NodeResults> results;
  for (const FleetNode& node : fleet)
    results.push_back({node.name, Distribution::of(node.values).value()});
  const auto answer = fit_reference(results, Worse::lower);
  const auto* reference = answer ? std::get_if<Reference>(&*answer) : nullptr;
  return reference == nullptr ? std::nullopt : std::optional(*reference);
}

std::unique_ptr<NodeRule> learn_baseline(std::span<const FleetNode> fleet, int repeats) {
  const auto reference = learned_reference(fleet);
  if (!reference) return nullptr;
  auto version = next_version(nullptr, {"kind", "check", "metric", Worse::lower}, *reference, {});
  return std::make_unique<BaselineRule>(std::move(**version), repeats);
}

}  // namespace

std::span<const std::string_view> rule_names() {
  return kRules;
}

std::optional<double> learned_centre(std::span<const FleetNode> fleet) {
  const auto reference = learned_reference(fleet);
  return reference ? std::optional(reference->centre.median()) : std::nullopt;
}

std::unique_ptr<NodeRule> learn_rule(std::string_view name, std::span<const FleetNode> fleet) {
  if (name == "mean_5") return learn_mean(fleet);
  if (name == "iqr_15") return learn_iqr(fleet, 1.5);
  if (name == "iqr_30") return learn_iqr(fleet, 3);
  return learn_baseline(fleet, name == "baseline" ? kMostRepeats : 0);
}

}  // namespace autopilot::learning::bench
