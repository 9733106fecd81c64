// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/baseline.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

constexpr double kLeastShift = 0.01;  // difference to the parent from which on a version is new

bool is_same_key(const MetricKey& a, const MetricKey& b) {
  return std::tie(a.kind, a.check, a.metric, a.worse) == std::tie(b.kind, b.check, b.metric, b.worse);
}

std::array<double, kSketchPoints> sketch_of(const Distribution& distribution) {
  std::array<double, kSketchPoints> sketch{};
  for (std::size_t i = 0; i < kSketchPoints; ++i)
    sketch.at(i) = distribution.quantile(static_cast<double>(i) / (kSketchPoints - 1));
  return sketch;
}

bool is_failed(const Baseline& baseline, std::span<const double> values) {
  return judge_node(baseline, values, kMostRepeats).verdict == BaselineVerdict::fail;
}

}  // namespace

Result<Distribution> reference_of(const Baseline& baseline) {
  if (!std::ranges::is_sorted(baseline.sketch))
    return fail(Errc::malformed, "baseline " + std::to_string(baseline.version) + " of " +
                                     baseline.key.metric +
                                     ": the quantiles are not ascending; learn it again");
  return Distribution::of({baseline.sketch.begin(), baseline.sketch.end()});
}

Result<std::optional<Baseline>> next_version(const Baseline* parent, const MetricKey& key,
                                             const Reference& reference, WallTime created) {
  Baseline next{.key = key,
                .version = 1,
                .parent = 0,
                .nodes = reference.nodes,
                .sketch = sketch_of(reference.centre),
                .alpha = 1 - reference.limit,
                .repeat_cv = reference.repeat_cv,
                .created = created};
  if (parent == nullptr) return next;
  next.version = parent->version + 1;
  next.parent = parent->version;
  if (!is_same_key(parent->key, key)) return next;
  const Distribution before = TRY(reference_of(*parent));
  const Distribution after = TRY(reference_of(next));
  if (difference(after, before) <= kLeastShift) return std::nullopt;
  return next;
}

BaselineJudgement judge_node(const Baseline& baseline, std::span<const double> values, int repeats) {
  BaselineJudgement judgement;
  judgement.limit = 1 - baseline.alpha;
  const auto reference = reference_of(baseline);
  const auto node = Distribution::of({values.begin(), values.end()});
  if (!reference || !node) {
    judgement.reason = (reference ? node : reference).error().what;
    return judgement;
  }
  constexpr double kDeviations = 3;
  const double noise = kDeviations * baseline.repeat_cv / std::sqrt(static_cast<double>(values.size()));
  judgement.shortfall = shortfall(*node, *reference, baseline.key.worse);
  if (judgement.shortfall <= judgement.limit)
    judgement.verdict = BaselineVerdict::pass;
  else if (judgement.shortfall <= judgement.limit + noise && repeats < kMostRepeats)
    judgement.verdict = BaselineVerdict::repeat;
  else
    judgement.verdict = BaselineVerdict::fail;
  return judgement;
}

Canary try_canary(const Baseline* parent, const Baseline& next, std::span<const ServingNode> nodes) {
  Canary canary;
  for (const ServingNode& node : nodes) {
    if (node.served < kServedWell) continue;
    ++canary.nodes;
    if (is_failed(next, node.values) && (parent == nullptr || !is_failed(*parent, node.values)))
      canary.flipped.push_back(node.place);
  }
  std::ranges::sort(canary.flipped);
  return canary;
}

}  // namespace autopilot::learning
