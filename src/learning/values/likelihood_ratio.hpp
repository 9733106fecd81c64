// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "core/clock.hpp"
#include "learning/values/labels.hpp"

namespace autopilot::learning {

// A settled fault, and the signals that were seen at its detection.
struct SignalCase {
  SettledFault fault;
  bool has_signal = false;
};

struct LikelihoodRatio {
  double faulty_with = 0, faulty = 0;  // weighted counts
  double healthy_with = 0, healthy = 0;
  double log_odds = 0;  // what the signal adds; 0 without cases
};

// ln(P(signal | faulty) / P(signal | healthy)) with one case added to each count (Laplace). A case counts
// 0.5^(age / 180 days), only with a trust of at least kLeastTrust; within -4 and 4, as for the table of the
// in-flight engine. The order of the cases has no influence.
[[nodiscard]] LikelihoodRatio likelihood_ratio_of(std::span<const SignalCase> cases, WallTime now);

}  // namespace autopilot::learning
