// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "learning/adoption/learn_metric.hpp"
#include "learning/threshold/threshold.hpp"

namespace autopilot::learning {

// Measurements of healthy places that one threshold judges on one kind of machine, in the unit of the
// threshold.
struct ScoreGroup {
  MetricLimit limit;
  std::string check;
  std::string kind;
  double median = 0;          // the lowest of its metrics
  std::vector<Score> scores;  // the negative value: higher is worse
  std::vector<LabelledFault> faults;
  std::set<std::string> nodes;
  std::size_t excluded = 0;

  [[nodiscard]] std::string subject() const { return limit.threshold + " on " + kind; }
};
using ThresholdScores = std::map<std::pair<std::string, std::string>, ScoreGroup>;  // threshold and kind

// Adds the measurements of the metric, if a threshold judges it.
void add_scores(ThresholdScores& groups, const LearnInput& input, std::span<const Measurement> measurements,
                const LearnedMetric& metric);

// A least value within the budget of false findings, at most 98 % of the median, or nullopt if it differs by
// at most 1 % from the value in use. The errors of propose_threshold; `conflict`: the value would be below 70
// % of the median.
[[nodiscard]] Result<std::optional<Version>> learn_least_value(const LearnInput& input,
                                                               const ScoreGroup& group);

}  // namespace autopilot::learning
