// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/labelled_findings.hpp"

#include <algorithm>
#include <chrono>

#include "jobs/causes.hpp"

namespace autopilot::jobs {
namespace {

constexpr Duration kGraceOfLabel = std::chrono::minutes{5};

bool is_at(const FaultLabel& fault, const JobFinding& finding) {
  const Entity& culprit = finding.culprit;
  const bool is_place = culprit.kind == EntityKind::leaf ? fault.node.empty() && fault.leaf == culprit.node
                                                         : !fault.node.empty() && fault.node == culprit.node;
  const bool has_ended = finding.resolved && *finding.resolved < fault.onset;
  return is_place && finding.detected <= fault.end + kGraceOfLabel && !has_ended;
}

}  // namespace

bool has_weighed_signals(const JobFinding& finding) {
  const bool is_slow = finding.effect == Effect::slow || finding.effect == Effect::none;
  return is_slow && finding.culprit.is_accused() && finding.cause != kReplica &&
         std::ranges::any_of(finding.evidence, [](const Evidence& one) { return one.log_odds != 0; });
}

std::vector<std::string> signals_of(const JobFinding& finding) {
  std::vector<std::string> signals;
  for (const Evidence& one : finding.evidence)
    if (one.log_odds != 0 && std::ranges::find(signals, one.signal) == signals.end())
      signals.push_back(one.signal);
  return signals;
}

std::vector<LabelledFinding> label_findings(const Labels& labels, const RunLog& run) {
  const Exposure exposure = run.exposure(labels.begin, labels.end);
  std::vector<LabelledFinding> labelled;
  for (const LoggedFinding& logged : run.findings()) {
    const JobFinding& finding = logged.finding;
    const bool is_outside =
        finding.detected < exposure.begin || finding.detected > exposure.end + kGraceOfLabel;
    if (is_outside || !has_weighed_signals(finding)) continue;
    labelled.push_back({.id = finding.id,
                        .node = finding.culprit.node,
                        .detected = finding.detected,
                        .signals = signals_of(finding),
                        .probability = finding.probability,
                        .is_right = std::ranges::any_of(
                            labels.faults, [&](const FaultLabel& fault) { return is_at(fault, finding); })});
  }
  return labelled;
}

}  // namespace autopilot::jobs
