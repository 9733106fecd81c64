// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/propose_all.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "learning/adoption/learn_metric.hpp"
#include "learning/adoption/learn_threshold.hpp"
#include "learning/proposers.hpp"
#include "learning/values/labels.hpp"

namespace autopilot::learning {
namespace {

using MetricName = std::pair<std::string, std::string>;  // check and metric

std::map<MetricName, std::vector<Measurement>> by_metric(const std::vector<Measurement>& measurements) {
  std::map<MetricName, std::vector<Measurement>> groups;
  for (const Measurement& one : measurements)
    groups[{one.check, one.metric}].push_back(one);
  return groups;
}

std::set<std::string> kinds_of(const std::vector<Measurement>& measurements) {
  std::set<std::string> kinds;
  for (const Measurement& one : measurements)
    kinds.insert(one.kind);
  return kinds;
}

void add_refused(LearnOutcome& outcome, const std::string& subject, const std::string& why) {
  const bool is_known = std::ranges::any_of(
      outcome.refused, [&](const NotLearned& one) { return one.subject == subject && one.why == why; });
  if (!is_known) outcome.refused.push_back({subject, why});
}

void add_metric(const LearnInput& input, const MetricName& name, const std::vector<Measurement>& measurements,
                ThresholdScores& scores, LearnOutcome& outcome) {
  std::set<std::string> learned_kinds;
  for (const std::string& kind : kinds_of(measurements)) {
    const MetricKey key{kind, name.first, name.second, Worse::lower};
    const std::string subject = name.second + " of " + name.first + " on " + kind;
    const auto metric = learn_metric(input, measurements, key);
    if (!metric) {
      add_refused(outcome, subject, metric.error().what);
      continue;
    }
    if (!learned_kinds.insert(metric->healthy.kind).second) continue;  // this general kind is done
    add_scores(scores, input, measurements, *metric);
    if (const std::optional<Version>& proposal = metric->proposal; proposal)
      outcome.proposals.push_back(*proposal);
    else
      outcome.unchanged.push_back(metric->subject);
  }
}

void add_thresholds(const LearnInput& input, const ThresholdScores& scores, LearnOutcome& outcome) {
  for (const auto& [name, group] : scores) {
    const auto proposal = learn_least_value(input, group);
    if (!proposal)
      add_refused(outcome, group.subject(), proposal.error().what);
    else if (const std::optional<Version>& version = *proposal; version)
      outcome.proposals.push_back(*version);
    else
      outcome.unchanged.push_back(group.subject());
  }
}

void add_roles(const LearnInput& input, LearnOutcome& outcome) {
  const std::vector<SettledFault> settled = settle(input.faults, input.labels, input.jobs, input.repairs);
  std::set<std::string> checks;
  for (const SettledFault& fault : settled)
    if (!fault.check.empty()) checks.insert(fault.check);
  for (const std::string& check : checks) {
    CheckInUse in_use_now{check, "all kinds of machines", CheckRole::gating, 0};
    const Version* used =
        in_use(input.versions, ProposalKind::check_role, check + " on " + in_use_now.kind, "");
    if (used != nullptr) {
      in_use_now.role = std::get<LearnedRole>(used->learned).role;
      in_use_now.version = used->proposal.to_version;
    }
    const auto proposal = propose_role(settled, in_use_now, input.now);
    if (!proposal) continue;
    const CheckRole next = in_use_now.role == CheckRole::gating ? CheckRole::advisory : CheckRole::gating;
    outcome.proposals.push_back({*proposal, LearnedRole{check, next}, {}});
  }
}

}  // namespace

LearnOutcome propose_all(const LearnInput& input) {
  LearnOutcome outcome;
  ThresholdScores scores;
  for (const auto& [name, measurements] : by_metric(input.measurements))
    add_metric(input, name, measurements, scores, outcome);
  add_thresholds(input, scores, outcome);
  add_roles(input, outcome);
  std::ranges::sort(outcome.proposals, {},
                    [](const Version& one) { return std::tie(one.proposal.kind, one.proposal.subject); });
  return outcome;
}

}  // namespace autopilot::learning
