// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "jobs/detectors/peers.hpp"

// What was learned about the signals of the engine on one cluster: other log odds, another prior, other
// margins of the comparison with peers. Without it the engine uses the values that it ships with.
namespace autopilot::jobs {

inline constexpr double kLeastPrior = 0.01;
inline constexpr double kMostPrior = 0.3;
// A learned margin is within these multiples of the margin of the rule.
inline constexpr double kLeastMargin = 0.5;
inline constexpr double kMostMargin = 2;

struct SignalWeights {
  std::string version;          // every finding states it; not empty
  std::optional<double> prior;  // instead of kPrior; kLeastPrior to kMostPrior
  // By signal, instead of the likelihood table; within -kMaxLogOdds and kMaxLogOdds.
  std::map<std::string, double, std::less<>> log_odds;
  // By signal of a peer rule: factor of its `z` and `shortfall`; kLeastMargin to kMostMargin.
  std::map<std::string, double, std::less<>> margins;
};
using SignalWeightsPtr = std::shared_ptr<const SignalWeights>;  // null: the values that ship

// A fact, such as an uncorrectable error of memory or a hardware Xid: its log odds are never learned. An
// unknown signal is a fact.
[[nodiscard]] bool is_fact(std::string_view signal);
// The margin of the rule of this signal may be learned: a robust comparison of a signal that accuses or
// supports an accusation, and no fact. Rules by which the engine excuses a rank keep their margins.
[[nodiscard]] bool has_learnable_margin(std::string_view signal);

// malformed: no version, an unknown signal, a fact, a value out of range; the text names the signal.
[[nodiscard]] Status check_weights(const SignalWeights& weights);

// The rule with its learned margin. `weights`: null if there are none.
[[nodiscard]] PeerRule with_margin(const PeerRule& rule, const SignalWeights* weights);

}  // namespace autopilot::jobs
