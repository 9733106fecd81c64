// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "jobs/decision/signal_weights.hpp"
#include "jobs/findings.hpp"

// From evidence to a probability: naive Bayes in log odds, with a limit for each family of signals.
namespace autopilot::jobs {

// No signal alone adds or takes more, in log odds.
inline constexpr double kMaxLogOdds = 4;

// Probability that a node that a detector names is the culprit, before its evidence counts. An assumption: a
// slow worker dominates 1.7 % of slow jobs (what-if study of ByteDance), and the comparison with peers of
// equal role removes most of the other causes.
inline constexpr double kPrior = 0.05;

// What a signal adds for the entity that it is about; negative: it speaks against that entity.
struct Likelihood {
  std::string_view signal;
  Family family = Family::progress;
  double log_odds = 0;
};

// All known signals, ordered by family.
[[nodiscard]] std::span<const Likelihood> likelihoods();
// nullopt for an unknown signal.
[[nodiscard]] std::optional<Likelihood> likelihood_of(std::string_view signal);

// Evidence of a signal of the table: its family is filled in. An unknown signal has the family `progress`.
[[nodiscard]] Evidence make_evidence(std::string_view signal, std::string text, WallTime time);

struct Fusion {
  double probability = 0;  // that the accused entity is the culprit, 0..1, never exactly 0 or 1
  // The evidence with log_odds: strongest first, by absolute value. 0 for a signal that is unknown, that has
  // no finite value, or whose family has a stronger signal of the same direction.
  std::vector<Evidence> terms;
};

// How evidence is joined. strongest: only the single strongest piece counts, the ablation without fusion.
enum class FusionRule : std::uint8_t { families, strongest };

// Of each family, the strongest signal for and the strongest signal against the entity count. The order of
// the evidence has no influence on the result. A prior that is not a number is kPrior; it is held within 1e-6
// and 1 - 1e-6.
// `weights`: learned log odds come before the table; null: the table alone.
[[nodiscard]] Fusion fuse(double prior, std::span<const Evidence> evidence,
                          FusionRule rule = FusionRule::families, const SignalWeights* weights = nullptr);

}  // namespace autopilot::jobs
