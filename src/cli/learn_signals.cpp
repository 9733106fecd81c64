// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_signals.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/learned_signals.hpp"
#include "cli/job_folder.hpp"
#include "cli/job_replay.hpp"
#include "jobs/decision/fusion.hpp"
#include "jobs/scoring/score.hpp"

namespace autopilot::cli {
namespace {

constexpr double kAccusesFrom = 0.5;

struct FolderRun {
  jobs::Labels labels;
  jobs::RunLog log;
  std::vector<jobs::PeerScore> scores;
  bool is_simulated = false;
};

Result<FolderRun> run_folder(const std::string& folder, const jobs::SignalWeightsPtr& weights,
                             bool collects_scores) {
  ProblemList problems;
  FolderRun run;
  auto labels = read_labels(folder, [&](const std::string& problem) { problems.add(problem); });
  if (!labels) return fail(std::move(labels.error()));
  run.labels = *std::move(labels);
  JobReplay replay({.collects_scores = collects_scores});
  replay.weights = weights;
  replay.on_format = [&](const api::JobFormat& format) { run.is_simulated = format.is_simulated; };
  replay.on_record = [&](const jobs::Record& record) { run.log.add(record); };
  replay.on_finding = [&](const jobs::JobFinding& finding, WallTime now) { run.log.add(finding, now); };
  replay.on_scores = [&](std::vector<jobs::PeerScore> scores) {
    for (jobs::PeerScore& score : scores)
      run.scores.push_back(std::move(score));
  };
  TRY(replay.run(folder, problems));
  problems.finish();
  if (run.log.dropped() > 0)
    return fail(Errc::exhausted, folder + " has more nodes, jobs or findings than can be counted");
  return run;
}

// Nodes of different simulations have equal names.
std::string prefix_of(const FolderRun& run, const std::string& folder) {
  return run.is_simulated ? folder + "/" : std::string();
}

struct FolderScores {
  double faults = 0, detected = 0, wrong = 0;
  std::uint64_t accusations = 0;
  std::size_t findings = 0;

  [[nodiscard]] double f1() const {
    const double all = faults + detected + wrong;
    return all == 0 ? 1 : 2 * detected / all;
  }
};

Result<FolderScores> score_folders(const std::vector<std::string>& folders,
                                   const jobs::SignalWeightsPtr& weights) {
  FolderScores sum;
  for (const std::string& folder : folders) {
    const FolderRun run = TRY(run_folder(folder, weights, false));
    const jobs::Score score = jobs::score(run.labels, run.log);
    sum.faults += static_cast<double>(score.faults);
    sum.detected += static_cast<double>(score.detected);
    sum.wrong += static_cast<double>(score.false_findings);
    sum.accusations += score.false_accusations.events;
    sum.findings += score.detected + score.false_findings;
  }
  return sum;
}

std::string numbers_of(const FolderScores& scores) {
  return std::to_string(scores.f1()) + " and " + std::to_string(scores.accusations);
}

// How many findings of history reach the probability from which they accuse.
std::size_t accusing(const std::vector<learning::SignalFinding>& findings,
                     const jobs::SignalWeights* weights) {
  std::size_t count = 0;
  for (const learning::SignalFinding& finding : findings) {
    std::vector<jobs::Evidence> evidence;
    for (const std::string& signal : finding.signals)
      evidence.push_back(jobs::make_evidence(signal, "", finding.time));
    const double prior = weights == nullptr ? jobs::kPrior : weights->prior.value_or(jobs::kPrior);
    const double probability = jobs::fuse(prior, evidence, jobs::FusionRule::families, weights).probability;
    if (probability >= kAccusesFrom) ++count;
  }
  return count;
}

}  // namespace

Result<learning::SignalInput> read_signals(const std::vector<std::string>& folders) {
  learning::SignalInput input{.signals = api::shipped_signals(), .prior = api::shipped_prior()};
  for (const std::string& folder : folders) {
    FolderRun run = TRY(run_folder(folder, nullptr, true));
    const std::string prefix = prefix_of(run, folder);
    for (learning::SignalFinding& finding : api::signal_findings(jobs::label_findings(run.labels, run.log))) {
      finding.finding = prefix + finding.finding;
      finding.place = prefix + finding.place;
      input.findings.push_back(std::move(finding));
    }
    for (jobs::PeerScore& score : run.scores)
      score.node = prefix + score.node;
    api::add_scores(input.scores, run.scores);
    for (learning::LabelledFault& fault : api::faults_of(run.labels)) {
      fault.place = prefix + fault.place;
      input.faults.push_back(std::move(fault));
    }
  }
  return input;
}

void add_findings(learning::SignalInput& input, const learning::ReportRecords& records) {
  for (learning::SignalFinding& finding : learning::findings_of_history(
           records.faults, records.labels, records.jobs, records.repairs, records.validations))
    input.findings.push_back(std::move(finding));
}

Status add_signal_proposal(const learning::SignalInput& input, const std::vector<std::string>& folders,
                           learning::LearnOutcome& outcome) {
  if (input.findings.empty() && input.scores.empty()) return {};
  learning::SignalOutcome found = learning::propose_signals(input);
  for (std::string& why : found.refused)
    outcome.refused.push_back({std::string(learning::kSignalsSubject), std::move(why)});
  if (!found.proposal) return {};
  const jobs::SignalWeightsPtr weights = TRY(api::weights_of(*found.proposal));
  learning::ProposalReplay& replay = found.proposal->proposal.replay;
  if (folders.empty()) {
    replay = {input.findings.size(), accusing(input.findings, nullptr),
              accusing(input.findings, weights.get())};
  } else {
    const FolderScores before = TRY(score_folders(folders, nullptr));
    const FolderScores after = TRY(score_folders(folders, weights));
    if (after.f1() < before.f1() || after.accusations > before.accusations) {
      outcome.refused.push_back({std::string(learning::kSignalsSubject),
                                 "on the folders themselves, F1 and false accusations are " +
                                     numbers_of(after) + " with what was learned, and " + numbers_of(before) +
                                     " without it"});
      return {};
    }
    replay = {static_cast<std::size_t>(before.faults), before.findings, after.findings};
  }
  outcome.proposals.push_back(*std::move(found.proposal));
  return {};
}

}  // namespace autopilot::cli
