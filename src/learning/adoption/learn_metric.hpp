// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/result.hpp"
#include "learning/adoption/propose_all.hpp"
#include "learning/baseline/baseline.hpp"

namespace autopilot::learning {

// The places of a kind that reach the reference of a metric.
struct HealthyPlaces {
  std::string kind;  // kind_text at the level at which enough machines are measured
  KindLevel level = KindLevel::full;
  double median = 0;             // of the reference
  std::set<std::string> places;  // place_text
  std::size_t excluded = 0;      // places that fail, or do not count
};

struct LearnedMetric {
  std::string subject;
  HealthyPlaces healthy;
  std::optional<Version> proposal;  // nullopt: the baseline in use still fits
};

// `measurements`: of this check and metric. The errors of propose_baseline; `conflict`: the median is above
// the nominal rate, or the new baseline would fail more than 1 % of the nodes that served jobs well.
[[nodiscard]] Result<LearnedMetric> learn_metric(const LearnInput& input,
                                                 std::span<const Measurement> measurements,
                                                 const MetricKey& key);

// With four digits.
[[nodiscard]] std::string number_text(double value);

// True if the kind of the measurement is `kind` at that level.
[[nodiscard]] bool is_of_kind(const Measurement& measurement, const std::string& kind, KindLevel level);

}  // namespace autopilot::learning
