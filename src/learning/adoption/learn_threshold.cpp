// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/learn_threshold.hpp"

#include <algorithm>
#include <cmath>

#include "learning/baseline/contributors.hpp"
#include "learning/proposers.hpp"

namespace autopilot::learning {
namespace {

// A tail that was extrapolated further down is not known well enough.
constexpr double kLeastShareOfMedian = 0.7;
// As the least limit of a baseline: healthy cards of one kind differ by that much.
constexpr double kMostShareOfMedian = 0.98;
constexpr double kLeastChangeOfLimit = 0.01;

bool hits(const Fault& fault, const Place& place) {
  if (fault.place.cluster != place.cluster) return false;
  if (!fault.place.gpu.empty() && !place.gpu.empty()) return fault.place.gpu == place.gpu;
  return fault.place.node == place.node;
}

void add_faults(ScoreGroup& group, const LearnInput& input, const Place& place) {
  for (const Fault& fault : input.faults)
    if (hits(fault, place))
      group.faults.push_back({place_text(place), fault.begin, fault.end.value_or(input.now)});
}

// For each node-day of the interval that the scores cover.
double evaluations_of(const ScoreGroup& group) {
  const auto [first, last] = std::ranges::minmax_element(group.scores, {}, &Score::time);
  const double days = std::max(1.0, to_seconds(last->time - first->time) / 86'400);
  return static_cast<double>(group.scores.size()) / (static_cast<double>(group.nodes.size()) * days);
}

Proposal in_words(Proposal draft, const ScoreGroup& group, double before, double after, WallTime now) {
  draft.subject = group.subject();
  draft.from = "at least " + number_text(before);
  draft.to = "at least " + number_text(after);
  draft.sentence = "For " + draft.subject + ": " + draft.to + " instead of " + number_text(before);
  draft.basis.excluded = group.excluded;
  return make_proposal(std::move(draft), now);
}

}  // namespace

void add_scores(ThresholdScores& groups, const LearnInput& input, std::span<const Measurement> measurements,
                const LearnedMetric& metric) {
  const auto kind = parse_kind(metric.healthy.kind);
  if (!kind || measurements.empty() || !input.limit_of) return;
  const Measurement& any = measurements.front();
  const auto limit = input.limit_of(any.check, any.metric, *kind);
  if (!limit) return;
  ScoreGroup& group = groups[{limit->threshold, metric.healthy.kind}];
  const double median = metric.healthy.median / limit->whole;
  group.median = group.scores.empty() ? median : std::min(group.median, median);
  group.limit = *limit;
  group.kind = metric.healthy.kind;
  if (group.check.empty()) group.check = any.check;
  group.excluded = std::max(group.excluded, metric.healthy.excluded);
  std::set<std::string> known;
  for (const Measurement& one : measurements) {
    const std::string place = place_text(one.place);
    if (!is_of_kind(one, group.kind, metric.healthy.level) || !metric.healthy.places.contains(place))
      continue;
    if (known.insert(place).second) add_faults(group, input, one.place);
    group.nodes.insert(one.place.cluster + "/" + one.place.node);
    for (const double value : one.values)
      group.scores.push_back({place, one.time, -value / limit->whole});
  }
}

Result<std::optional<Version>> learn_least_value(const LearnInput& input, const ScoreGroup& group) {
  const Version* used = in_use(input.versions, ProposalKind::threshold, group.subject(), "");
  const double before = used == nullptr ? group.limit.value : std::get<LearnedThreshold>(used->learned).value;
  const ThresholdInUse now_used{group.check, group.limit.threshold, group.kind, -before,
                                used == nullptr ? 0 : used->proposal.to_version};
  const Budget budget{.findings = input.findings_budget, .evaluations = evaluations_of(group)};
  auto proposed = TRY(propose_threshold(group.scores, group.faults, now_used, budget, input.now));
  if (!proposed) return std::nullopt;
  const double value = std::min(-proposed->threshold.value, kMostShareOfMedian * group.median);
  if (std::abs(value - before) <= kLeastChangeOfLimit * before) return std::nullopt;
  if (value < kLeastShareOfMedian * group.median)
    return fail(Errc::conflict, "the budget leads to " + number_text(value) + ", below 70 % of the median " +
                                    number_text(group.median) +
                                    "; the measurements are too few for so small a budget. Measure more, or "
                                    "allow more false findings");
  return Version{in_words(std::move(proposed->proposal), group, before, value, input.now),
                 LearnedThreshold{group.limit.threshold, group.kind, value},
                 {}};
}

}  // namespace autopilot::learning
