// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/fusion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

namespace autopilot::jobs {
namespace {

// Log odds of a signal that held for several windows, as the detectors report it. "Assumption": an estimate
// from how often healthy nodes show the signal, to be replaced by counts of labelled findings.
constexpr auto kLikelihoods = std::to_array<Likelihood>({
    {"ecc_uncorrected", Family::ecc, 4.0},     // assumption: healthy memory has none
    {"xid_hardware", Family::ecc, 4.0},        // the catalog states a fault of the GPU
    {"xid_application", Family::ecc, -1.5},    // 31 alone is 59.8 % of the Xids of Delta, mostly of programs
    {"ecc_corrected_high", Family::ecc, 1.0},  // assumption: a rate above the peers' is a weak precursor
    {"throttle_brake", Family::clock, 4.0},    // assumption: only power equipment sets it
    {"throttle_hw", Family::clock, 4.0},       // assumption: rare without a fault
    {"throttle_thermal", Family::clock, 4.0},  // assumption: rare if the peers' load is equal
    {"sm_clock_low", Family::clock, 4.0},      // assumption: silicon spread explains 1 to 2 %, not 5 %
    {"temp_high", Family::clock, 1.5},         // assumption: the place in the rack matters
    {"mem_temp_high", Family::clock, 1.5},     // assumption: likewise
    {"throttle_power_cap", Family::clock, 1.0},   // assumption: the place in the node and the load matter
    {"pcie_width_low", Family::pcie, 4.0},        // assumption: lanes are lost by faults only
    {"pcie_gen_low", Family::pcie, 3.5},          // assumption: under load; idle links save power
    {"pcie_replays_high", Family::pcie, 2.0},     // assumption: single replays occur on healthy links
    {"nvlink_errors_high", Family::nvlink, 3.5},  // assumption: replays occur, a rate does not
    {"nvlink_bytes_low", Family::nvlink, 0.5},    // assumption: a GPU that waits sends less
    {"nic_down", Family::nic, 4.0},               // assumption: a port that a job uses is never down
    {"nic_rate_low", Family::nic, 4.0},           // assumption: exact comparison with the peers
    {"nic_link_downed", Family::nic, 3.5},        // two in 5 min evict in ByteRobust
    {"nic_errors_high", Family::nic, 3.5},        // assumption: symbol errors and discards name the port
    {"nic_asymmetric", Family::nic, 2.0},         // assumption: a schedule can use rails unequally
    {"nic_retransmits_high", Family::nic, 2.5},   // assumption: the other side can be the cause
    {"nic_tx_low", Family::nic, 0.5},             // assumption: a port that waits sends less
    {"nic_rx_low", Family::nic, 0.5},             // assumption: likewise
    {"leaf_rail", Family::nic, 4.0},              // assumption: 30 % of the nodes of a leaf, equal rail
    {"nic_cnp_high", Family::nic, -0.5},          // assumption: congestion is mostly caused by others
    {"nic_pause_high", Family::nic, -0.5},        // assumption: likewise
    {"congestion", Family::nic, -2.5},          // assumption: many jobs share the leaf and no port has errors
    {"process_stopped", Family::host, 4.0},     // assumption: a process of a job is not stopped by itself
    {"process_disk_sleep", Family::host, 2.5},  // assumption: shared storage shows on all ranks instead
    {"disk_sleep", Family::host, 2.5},          // assumption: likewise
    {"process_cpu_low", Family::host, 3.0},     // assumption: others use the processors
    {"run_delay_high", Family::host, 3.0},      // assumption: a limit, an affinity or others delay it
    {"host_cpu_high", Family::host, 2.0},       // assumption: job processes can cause it
    {"run_queue_high", Family::host, 2.0},      // assumption: likewise
    {"psi_cpu_high", Family::host, 2.5},        // assumption: likewise
    {"psi_io_high", Family::host, 2.5},         // assumption: likewise
    {"psi_memory_high", Family::host, 3.0},     // assumption: likewise, but it always costs time
    {"inlet_high", Family::host, 1.5},          // assumption: the place in the room matters
    {"node_finding_failed", Family::host, 4.0},    // checks of the node's agent have their own hysteresis
    {"node_lost", Family::host, 4.0},              // assumption: no telemetry and no agent
    {"node_finding_degraded", Family::host, 2.0},  // assumption: many degraded parts slow nothing
    {"tensor_high", Family::progress, 3.0},        // the peers wait for this rank, not it for them
    {"util_low", Family::progress, 2.0},           // assumption: a GPU that waits in a collective is busy
    {"power_low", Family::progress, 1.0},          // assumption: a GPU without work, or a GPU that waits
    {"tensor_low", Family::progress, 0.5},         // assumption: likewise
    {"mem_bytes_high", Family::progress, -1.0},    // assumption: the rank has other work
    {"job_slowed", Family::history, 2.0},          // assumption: evidence and slower steps began together
});

constexpr double kLeastProbability = 1e-6;

double log_odds_of(double probability) {
  return std::log(probability / (1 - probability));
}

double usable_prior(double prior) {
  if (std::isnan(prior)) return kPrior;
  return std::clamp(prior, kLeastProbability, 1 - kLeastProbability);
}

bool has_finite_value(const Evidence& evidence) {
  return !evidence.value || std::isfinite(*evidence.value);
}

// The learned value, else the known one.
double weight_of(const Likelihood& known, const SignalWeights* weights) {
  if (weights == nullptr) return known.log_odds;
  const auto learned = weights->log_odds.find(known.signal);
  return learned == weights->log_odds.end() ? known.log_odds : learned->second;
}

// Equal sets give equal sequences: strongest first, then by all that a reader can see.
bool is_stronger_evidence(const Evidence& a, const Evidence& b) {
  const double strength_a = std::abs(a.log_odds);
  const double strength_b = std::abs(b.log_odds);
  if (strength_a != strength_b) return strength_a > strength_b;
  return std::tie(a.family, a.signal, a.time, a.text) < std::tie(b.family, b.signal, b.time, b.text);
}

// Keeps the first of each family and direction of the sorted terms.
void keep_strongest_of_family(std::vector<Evidence>& terms) {
  constexpr std::size_t kFamilies = static_cast<std::size_t>(Family::history) + 1;
  std::array<std::array<bool, 2>, kFamilies> is_taken{};
  for (Evidence& term : terms) {
    if (term.log_odds == 0) continue;
    bool& taken = is_taken.at(static_cast<std::size_t>(term.family)).at(term.log_odds < 0 ? 1 : 0);
    if (taken) term.log_odds = 0;
    taken = true;
  }
}

}  // namespace

std::span<const Likelihood> likelihoods() {
  return kLikelihoods;
}

std::optional<Likelihood> likelihood_of(std::string_view signal) {
  for (const Likelihood& known : kLikelihoods)
    if (known.signal == signal) return known;
  return std::nullopt;
}

Evidence make_evidence(std::string_view signal, std::string text, WallTime time) {
  Evidence evidence;
  evidence.signal = signal;
  evidence.text = std::move(text);
  evidence.time = time;
  if (const auto known = likelihood_of(signal)) evidence.family = known->family;
  return evidence;
}

Fusion fuse(double prior, std::span<const Evidence> evidence, FusionRule rule, const SignalWeights* weights) {
  Fusion fusion;
  fusion.terms.assign(evidence.begin(), evidence.end());
  for (Evidence& term : fusion.terms) {
    const auto known = likelihood_of(term.signal);
    term.log_odds = 0;
    if (!known || !has_finite_value(term)) continue;
    term.family = known->family;
    term.log_odds = std::clamp(weight_of(*known, weights), -kMaxLogOdds, kMaxLogOdds);
  }
  std::sort(fusion.terms.begin(), fusion.terms.end(), &is_stronger_evidence);
  if (rule == FusionRule::families) {
    keep_strongest_of_family(fusion.terms);
  } else {
    for (std::size_t i = 1; i < fusion.terms.size(); ++i)
      fusion.terms[i].log_odds = 0;
  }
  std::stable_sort(fusion.terms.begin(), fusion.terms.end(), &is_stronger_evidence);
  double sum = log_odds_of(usable_prior(prior));
  for (const Evidence& term : fusion.terms)
    sum += term.log_odds;
  fusion.probability = std::clamp(1 / (1 + std::exp(-sum)), kLeastProbability, 1 - kLeastProbability);
  return fusion;
}

}  // namespace autopilot::jobs
