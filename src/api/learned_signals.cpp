// SPDX-License-Identifier: Apache-2.0
#include "api/learned_signals.hpp"

#include <memory>
#include <variant>

#include "jobs/decision/fusion.hpp"
#include "learning/values/labels.hpp"

namespace autopilot::api {
namespace {

constexpr double kAccusesFrom = 0.5;

}  // namespace

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

learning::SignalReplay replay_of(const jobs::Score& score) {
  return {.faults = score.faults,
          .detected = score.detected,
          .false_findings = score.false_findings,
          .false_accusations = score.false_accusations.events};
}

learning::SignalJudgement judge_findings(const std::vector<learning::SignalFinding>& findings,
                                         const jobs::SignalWeights* weights) {
  const double prior = weights == nullptr ? jobs::kPrior : weights->prior.value_or(jobs::kPrior);
  learning::SignalJudgement judgement;
  for (const learning::SignalFinding& finding : findings) {
    std::vector<jobs::Evidence> evidence;
    for (const std::string& signal : finding.signals)
      evidence.push_back(jobs::make_evidence(signal, "", finding.time));
    const double probability = jobs::fuse(prior, evidence, jobs::FusionRule::families, weights).probability;
    const bool accuses = probability >= kAccusesFrom;
    const bool is_settled = finding.trust >= learning::kLeastTrust;
    if (accuses) ++judgement.accusing;
    if (is_settled && accuses && finding.answer == learning::LabelAnswer::healthy) ++judgement.wrong;
    if (is_settled && !accuses && finding.answer == learning::LabelAnswer::faulty) ++judgement.missed;
  }
  return judgement;
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
