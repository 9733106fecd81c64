// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace autopilot::learning {
namespace {

struct Areas {
  double below = 0;  // where the first has more low values
  double above = 0;
};

Areas areas_between(std::span<const Distribution::Step> one, std::span<const Distribution::Step> other) {
  Areas areas;
  std::size_t i = 0;
  std::size_t j = 0;
  double ahead = 0;  // cumulative share of `one` minus that of `other`
  double last = 0;
  while (i < one.size() || j < other.size()) {
    const bool is_one = j == other.size() || (i < one.size() && one[i].value <= other[j].value);
    const Distribution::Step& step = is_one ? one[i++] : other[j++];
    if (ahead > 0) areas.below += ahead * (step.value - last);
    if (ahead < 0) areas.above -= ahead * (step.value - last);
    ahead += is_one ? step.share : -step.share;
    last = step.value;
  }
  return areas;
}

bool is_lower(const Distribution::Step& a, const Distribution::Step& b) {
  return a.value != b.value ? a.value < b.value : a.share < b.share;
}

}  // namespace

Result<Distribution> Distribution::of(std::vector<double> values) {
  if (values.empty()) return fail(Errc::malformed, "a distribution needs at least one value");
  if (values.size() > kMostValuesOfNode)
    return fail(Errc::exhausted, std::to_string(values.size()) + " values; a node has at most " +
                                     std::to_string(kMostValuesOfNode));
  for (const double value : values)
    if (!std::isfinite(value) || value <= 0)
      return fail(Errc::malformed, "a value of a metric must be finite and above 0; it is " +
                                       std::to_string(value) + "; repeat the diagnostic");
  std::ranges::sort(values);
  Distribution result;
  result.steps_.reserve(values.size());
  const double share = 1 / static_cast<double>(values.size());
  for (const double value : values)
    result.steps_.push_back({value, share});
  return result;
}

Distribution Distribution::pooled(std::span<const Distribution* const> parts) {
  Distribution result;
  const auto count = static_cast<double>(parts.size());
  for (const Distribution* part : parts)
    for (const Step& step : part->steps_)
      result.steps_.push_back({step.value, step.share / count});
  std::ranges::sort(result.steps_, is_lower);
  return result;
}

double Distribution::quantile(double p) const {
  constexpr double kRounding = 1e-9;
  double reached = 0;
  for (const Step& step : steps_) {
    reached += step.share;
    if (reached >= p - kRounding) return step.value;
  }
  return steps_.back().value;
}

double Distribution::mean() const {
  double sum = 0;
  for (const Step& step : steps_)
    sum += step.share * step.value;
  return sum;
}

double Distribution::variation() const {
  const double centre = mean();
  double sum = 0;
  for (const Step& step : steps_)
    sum += step.share * (step.value - centre) * (step.value - centre);
  const auto count = static_cast<double>(steps_.size());
  return count < 2 ? 0 : std::sqrt(sum * count / (count - 1)) / centre;
}

double shortfall(const Distribution& node, const Distribution& reference, Worse worse) {
  const Areas areas = areas_between(node.steps(), reference.steps());
  return (worse == Worse::lower ? areas.below : areas.above) / reference.median();
}

double difference(const Distribution& one, const Distribution& reference) {
  const Areas areas = areas_between(one.steps(), reference.steps());
  return (areas.below + areas.above) / reference.median();
}

}  // namespace autopilot::learning
