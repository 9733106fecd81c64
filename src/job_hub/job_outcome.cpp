// SPDX-License-Identifier: Apache-2.0
#include "job_hub/job_outcome.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace autopilot::job_hub {
namespace {

jobs::Failure without_details(const jobs::Failure& failure) {
  return {.kind = failure.kind,
          .cause = failure.cause,
          .culprit = failure.culprit,
          .node = failure.node,
          .time = failure.time,
          .sentence = failure.sentence};
}

jobs::JobFinding without_details(const jobs::JobFinding& finding) {
  return {.id = finding.id,
          .job = finding.job,
          .effect = finding.effect,
          .culprit = finding.culprit,
          .cause = finding.cause,
          .severity = finding.severity,
          .probability = finding.probability,
          .onset = finding.onset,
          .detected = finding.detected,
          .resolved = finding.resolved};
}

// The suspected nodes first.
std::vector<std::string> some_nodes(const jobs::JobReport& outcome, std::vector<std::string> nodes) {
  std::ranges::sort(nodes);
  if (nodes.size() <= kMostOutcomeNodes) return nodes;
  std::set<std::string> suspected;
  if (outcome.failure) suspected.insert(outcome.failure->culprit.node);
  for (const jobs::JobFinding& finding : outcome.findings)
    suspected.insert(finding.culprit.node);
  std::ranges::stable_partition(nodes, [&](const std::string& node) { return suspected.contains(node); });
  nodes.resize(kMostOutcomeNodes);
  std::ranges::sort(nodes);
  return nodes;
}

jobs::JobReport outcome_of(const jobs::JobReport& report) {
  jobs::JobReport outcome;
  outcome.state.job = report.state.job;
  outcome.state.name = report.state.name;
  outcome.state.health = report.state.health;
  outcome.state.attempt = report.state.attempt;
  outcome.state.nodes = report.state.nodes;
  outcome.kind = report.kind;
  outcome.started = report.started;
  outcome.ended = report.ended;
  outcome.outcome = report.outcome;
  if (report.failure) outcome.failure = without_details(*report.failure);
  for (const jobs::JobFinding& finding : report.findings) {
    if (outcome.findings.size() == kMostOutcomeFindings) break;
    if (finding.is_confirmed) outcome.findings.push_back(without_details(finding));
  }
  outcome.nodes = some_nodes(outcome, report.nodes);
  return outcome;
}

}  // namespace

Result<jobs::JobReport> outcome_for(const Result<jobs::JobReport>& found, const std::string& node,
                                    const std::string& job) {
  const bool ran_here =
      found && found->state.job == job && std::ranges::find(found->nodes, node) != found->nodes.end();
  if (!ran_here) return fail(Errc::not_found, "no job " + job + " is known that ran on node " + node);
  return outcome_of(*found);
}

}  // namespace autopilot::job_hub
