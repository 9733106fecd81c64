// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"

// Results of a metric as a distribution, and how far two distributions are apart.
namespace autopilot::learning {

// Which direction of a metric is worse: bandwidths fall, durations rise.
enum class Worse : std::uint8_t { lower, higher };

// Most values of one node, and of a baseline.
inline constexpr std::size_t kMostValuesOfNode = 4096;

// A distribution of positive values, in the unit of the metric. Immutable.
class Distribution {
 public:
  struct Step {
    double value = 0;
    double share = 0;  // of this value; all shares add up to 1
  };

  // Equal shares for all values; their order has no influence. `malformed`: no value, or a value that is not
  // finite or not above 0. `exhausted`: more than kMostValuesOfNode.
  [[nodiscard]] static Result<Distribution> of(std::vector<double> values);
  // Equal shares for all parts, however many values each has. At least one part.
  [[nodiscard]] static Distribution pooled(std::span<const Distribution* const> parts);

  // Ascending.
  [[nodiscard]] std::span<const Step> steps() const { return steps_; }
  // The smallest value that a share of at least p (0..1) of the distribution does not exceed.
  [[nodiscard]] double quantile(double p) const;
  [[nodiscard]] double median() const { return quantile(0.5); }
  [[nodiscard]] double mean() const;
  // Standard deviation of a sample, divided by the mean; 0 for one value.
  [[nodiscard]] double variation() const;

 private:
  std::vector<Step> steps_;
};

// How much worse `node` is than `reference`: the area between both cumulative distributions where `node` is
// on the worse side, divided by the median of the reference. For two single values, the relative shortfall:
// 0.05 is 5 % worse. Better results do not make up for worse ones. One pass over both.
[[nodiscard]] double shortfall(const Distribution& node, const Distribution& reference, Worse worse);

// The whole area between both (the Wasserstein-1 distance), divided by the median of the reference.
[[nodiscard]] double difference(const Distribution& one, const Distribution& reference);

}  // namespace autopilot::learning
