// SPDX-License-Identifier: Apache-2.0
#include "postflight/pair_run.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace autopilot::postflight {
namespace {

using learning::CheckOutcome;
using learning::PairTest;

constexpr std::size_t kLeastNodes = 2;
constexpr std::size_t kLongestPairText = 400;  // bytes
constexpr std::size_t kMostSuspectsSaid = 3;

bool is_suspicion(const Finding& finding) {
  return !finding.injected && (finding.health == Health::degraded || finding.health == Health::failed);
}

// Of peer/<node> and nic_port/<node>:<interface>. A link has two ends, and the fault can be at either.
bool is_about(const Finding& finding, std::string_view node) {
  const std::string_view key = finding.subject.key;
  if (finding.subject.kind == SubjectKind::peer) return key == node;
  return finding.subject.kind == SubjectKind::nic_port && key.substr(0, key.find(':')) == node;
}

std::string cut_text(std::string_view text) {
  return std::string(cut_utf8(text, kLongestPairText));
}

}  // namespace

bool starts_pair_test(const JobFacts& job, std::string_view node) {
  return job.suspects_network && job.pair_nodes.size() >= kLeastNodes && job.pair_nodes.front() == node;
}

bool awaits_pair_test(const JobFacts& job, std::string_view node) {
  return job.suspects_network && job.pair_nodes.size() >= kLeastNodes && job.pair_nodes.front() != node &&
         std::ranges::find(job.pair_nodes, node) != job.pair_nodes.end();
}

std::vector<Subject> subjects_of(const std::vector<std::string>& nodes) {
  std::vector<Subject> subjects;
  for (const std::string& node : nodes) {
    Subject& subject = subjects.emplace_back();
    subject.kind = SubjectKind::peer;
    subject.key = node;
  }
  return subjects;
}

PairTest pair_test_of(const PairRun& run) {
  PairTest test{.nodes = run.nodes, .text = cut_text(run.said), .suspects = {}};
  if (!run.result) return test;
  for (const Finding& finding : run.result->findings)
    if (is_suspicion(finding) && test.suspects.size() < PairTest::kMostSuspects)
      test.suspects.push_back(cut_text(finding.message));
  return test;
}

std::vector<CheckOutcome> own_outcomes_of(const PairRun& run, std::string_view node) {
  std::vector<CheckOutcome> outcomes;
  if (!run.result) return outcomes;
  for (const Finding& finding : run.result->findings)
    if (is_suspicion(finding) && is_about(finding, node))
      outcomes.push_back({.check = run.check,
                          .gpu = {},
                          .health = finding.health,
                          .reason = finding.reason,
                          .text = cut_text(finding.message)});
  if (outcomes.empty())
    outcomes.push_back({.check = run.check,
                        .gpu = {},
                        .health = Health::healthy,
                        .reason = {},
                        .text = to_sentence(pair_test_of(run))});
  return outcomes;
}

std::string to_sentence(const PairTest& test) {
  std::string text = "test between " + std::to_string(test.nodes.size()) + " nodes: ";
  if (test.suspects.empty()) return text + test.text;
  const std::size_t said = std::min(test.suspects.size(), kMostSuspectsSaid);
  for (std::size_t at = 0; at < said; ++at)
    text += (at == 0 ? "" : "; ") + test.suspects[at];
  if (test.suspects.size() > said) text += "; and " + std::to_string(test.suspects.size() - said) + " more";
  return text;
}

}  // namespace autopilot::postflight
