// SPDX-License-Identifier: Apache-2.0
#include "api/learned_signals.hpp"

#include <memory>
#include <variant>

#include "jobs/decision/fusion.hpp"

namespace autopilot::api {

std::vector<learning::SignalInUse> shipped_signals() {
  std::vector<learning::SignalInUse> signals;
  for (const jobs::Likelihood& one : jobs::likelihoods())
    signals.push_back({std::string(one.signal), one.log_odds, jobs::is_fact(one.signal)});
  return signals;
}

double shipped_prior() {
  return jobs::kPrior;
}

std::vector<learning::SignalFinding> signal_findings(const std::vector<jobs::LabelledFinding>& labelled) {
  std::vector<learning::SignalFinding> findings;
  for (const jobs::LabelledFinding& one : labelled)
    findings.push_back(
        {.finding = one.id,
         .place = one.node,
         .time = one.detected,
         .signals = one.signals,
         .answer = one.is_right ? learning::LabelAnswer::faulty : learning::LabelAnswer::healthy,
         .trust = learning::trust_of(learning::LabelSource::vendor_diagnosis)});
  return findings;
}

void add_scores(learning::SignalScores& scores, const std::vector<jobs::PeerScore>& added) {
  for (const jobs::PeerScore& one : added)
    scores[one.signal].push_back({one.node, one.time, one.margins});
}

std::vector<learning::LabelledFault> faults_of(const jobs::Labels& labels) {
  std::vector<learning::LabelledFault> faults;
  for (const jobs::FaultLabel& fault : labels.faults)
    if (!fault.node.empty()) faults.push_back({fault.node, fault.onset, fault.end});
  return faults;
}

Result<jobs::SignalWeightsPtr> weights_of(const learning::Version& version) {
  const auto* learned = std::get_if<learning::LearnedSignals>(&version.learned);
  if (learned == nullptr)
    return fail(Errc::malformed, "version " + version.proposal.id + " has no weights of signals");
  auto weights = std::make_shared<jobs::SignalWeights>();
  weights->version = version.proposal.id;
  if (learned->prior > 0) weights->prior = learned->prior;
  for (const learning::LearnedWeight& one : learned->weights)
    weights->log_odds[one.signal] = one.log_odds;
  for (const learning::LearnedMargin& one : learned->margins)
    weights->margins[one.signal] = one.factor;
  TRY_STATUS(jobs::check_weights(*weights));
  return jobs::SignalWeightsPtr(std::move(weights));
}

}  // namespace autopilot::api
