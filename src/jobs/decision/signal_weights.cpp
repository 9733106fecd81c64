// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/signal_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "jobs/decision/fusion.hpp"

namespace autopilot::jobs {
namespace {

// States and events that name their subject by themselves.
constexpr auto kFacts = std::to_array<std::string_view>(
    {"ecc_uncorrected", "xid_hardware", "xid_application", "throttle_brake", "throttle_hw", "pcie_width_low",
     "nic_down", "nic_rate_low", "leaf_rail", "process_stopped", "node_finding_failed", "node_lost"});

Status check_range(const std::string& what, double value, double least, double most) {
  if (value >= least && value <= most) return {};
  return fail(Errc::malformed, what + " is " + std::to_string(value) + "; it must be within " +
                                   std::to_string(least) + " and " + std::to_string(most));
}

}  // namespace

bool is_fact(std::string_view signal) {
  return std::ranges::find(kFacts, signal) != kFacts.end() || !likelihood_of(signal);
}

bool has_learnable_margin(std::string_view signal) {
  const PeerRule* rule = find_peer_rule(signal);
  if (rule == nullptr || rule->comparison != Comparison::robust || is_fact(signal)) return false;
  return rule->sign == Sign::fault || rule->sign == Sign::hint || rule->sign == Sign::delayed;
}

Status check_weights(const SignalWeights& weights) {
  if (weights.version.empty()) return fail(Errc::malformed, "learned weights of signals have no version");
  if (weights.prior) TRY_STATUS(check_range("the prior", *weights.prior, kLeastPrior, kMostPrior));
  for (const auto& [signal, log_odds] : weights.log_odds) {
    if (is_fact(signal))
      return fail(Errc::malformed,
                  "the weight of " + signal + " cannot be learned: it is a fact, or unknown");
    TRY_STATUS(check_range("the weight of " + signal, log_odds, -kMaxLogOdds, kMaxLogOdds));
  }
  for (const auto& [signal, margin] : weights.margins) {
    if (!has_learnable_margin(signal))
      return fail(Errc::malformed, "the margin of " + signal + " cannot be learned");
    TRY_STATUS(check_range("the margin of " + signal, margin, kLeastMargin, kMostMargin));
  }
  return {};
}

PeerRule with_margin(const PeerRule& rule, const SignalWeights* weights) {
  if (weights == nullptr) return rule;
  const auto margin = weights->margins.find(rule.signal);
  if (margin == weights->margins.end()) return rule;
  PeerRule learned = rule;
  learned.z *= static_cast<float>(margin->second);
  learned.shortfall *= static_cast<float>(margin->second);
  return learned;
}

}  // namespace autopilot::jobs
