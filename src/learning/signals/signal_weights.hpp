// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "core/result.hpp"
#include "learning/signals/signal_cases.hpp"

namespace autopilot::learning {

// Labelled findings that a fit needs: in all, with each answer, and for the weight of one signal.
inline constexpr std::size_t kLeastLabelled = 30;
inline constexpr std::size_t kLeastOfAnswer = 8;
inline constexpr std::size_t kLeastWithSignal = 10;
inline constexpr std::size_t kLeastPlacesOfSignal = 3;

// Weights and prior that differ from those in use with a probability of 95 %; empty if none does.
//
// The probability of a finding is logistic in the prior and in the weights of its signals. The fit maximises
// the likelihood of the labels, each of which is wrong with a probability of 1 - trust, times a normal prior
// around the values in use with a deviation of 1 (0.5 for the prior probability). Labels below kLeastTrust
// and unclear ones do not count. Weights stay within -4 and 4, the prior within 0.01 and 0.3. The order of
// the findings has no influence.
//
// conflict: labels of people contradict the evidence (of the findings with a probability of 0.95 and more,
// more than a quarter are labelled healthy), or labels contradict each other about more than a quarter of the
// findings; at least kLeastOfAnswer either way. unavailable: too few labels, or of one answer; the text
// states how many.
[[nodiscard]] Result<LearnedSignals> learn_weights(std::span<const SignalInUse> signals, double prior,
                                                   std::span<const SignalFinding> findings);

}  // namespace autopilot::learning
