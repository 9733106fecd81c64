// SPDX-License-Identifier: Apache-2.0
#include "cli/learn_signals.hpp"

#include <span>
#include <utility>

#include "api/learned_signals.hpp"
#include "cli/job_folder.hpp"
#include "cli/job_replay.hpp"
#include "jobs/scoring/score.hpp"
#include "learning/signals/signal_replay.hpp"

namespace autopilot::cli {
namespace {

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

Result<learning::SignalReplay> replay_folders(const std::vector<std::string>& folders,
                                              const jobs::SignalWeightsPtr& weights) {
  learning::SignalReplay sum;
  for (const std::string& folder : folders) {
    const FolderRun run = TRY(run_folder(folder, weights, false));
    sum += api::replay_of(jobs::score(run.labels, run.log));
  }
  return sum;
}

Result<jobs::SignalWeightsPtr> weights_in_use(std::span<const learning::Version> versions) {
  const learning::Version* used =
      learning::in_use(versions, learning::ProposalKind::signals, learning::kSignalsSubject, "");
  if (used == nullptr) return jobs::SignalWeightsPtr{};
  return api::weights_of(*used);
}

// Replays the proposal on what it was learned from, and takes it back if anything is worse.
Status try_proposal(const learning::SignalInput& input, const std::vector<std::string>& folders,
                    learning::SignalOutcome& found) {
  const jobs::SignalWeightsPtr used = TRY(weights_in_use(input.versions));
  const jobs::SignalWeightsPtr proposed = TRY(api::weights_of(*found.proposal));
  const learning::SignalJudgement before = api::judge_findings(input.findings, used.get());
  const learning::SignalJudgement after = api::judge_findings(input.findings, proposed.get());
  found.proposal->proposal.replay = {input.findings.size(), before.accusing, after.accusing};
  std::optional<std::string> worse = learning::what_is_worse(before, after);
  if (!worse && !folders.empty()) {
    const learning::SignalReplay with_used = TRY(replay_folders(folders, used));
    const learning::SignalReplay with_proposed = TRY(replay_folders(folders, proposed));
    found.proposal->proposal.replay = {with_used.faults, with_used.detected + with_used.false_findings,
                                       with_proposed.detected + with_proposed.false_findings};
    worse = learning::what_is_worse(with_used, with_proposed);
  }
  learning::withhold(found, worse);
  return {};
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
  if (folders.empty() && input.findings.empty()) return {};
  learning::SignalOutcome found = learning::propose_signals(input);
  if (found.proposal) TRY_STATUS(try_proposal(input, folders, found));
  for (std::string& why : found.refused)
    outcome.refused.push_back({std::string(learning::kSignalsSubject), std::move(why)});
  for (std::string& what : found.unchanged)
    outcome.unchanged.push_back(std::move(what));
  if (!folders.empty() && input.scores.empty())
    outcome.refused.push_back({std::string(learning::kSignalsSubject),
                               "margins of signals: the folders have no GPUs to compare for half an hour"});
  if (found.proposal) outcome.proposals.push_back(*std::move(found.proposal));
  return {};
}

}  // namespace autopilot::cli
