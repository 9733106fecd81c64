// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/result.hpp"
#include "jobs/decision/signal_weights.hpp"
#include "jobs/detectors/peer_scores.hpp"
#include "jobs/labels.hpp"
#include "jobs/scoring/labelled_findings.hpp"
#include "jobs/scoring/score.hpp"
#include "learning/adoption/propose_signals.hpp"
#include "learning/adoption/version.hpp"
#include "learning/signals/signal_replay.hpp"

// Between the in-flight engine and what is learned about its signals. Pure.
namespace autopilot::api {

// The signals of the engine with the weights that ship.
[[nodiscard]] std::vector<learning::SignalInUse> shipped_signals();
[[nodiscard]] double shipped_prior();

// Labels that a folder of job telemetry states.
[[nodiscard]] std::vector<learning::SignalFinding> signal_findings(
    const std::vector<jobs::LabelledFinding>& labelled);
// Scores of margins by signal; the place is the node.
void add_scores(learning::SignalScores& scores, const std::vector<jobs::PeerScore>& added);
[[nodiscard]] std::vector<learning::LabelledFault> faults_of(const jobs::Labels& labels);

// What a run of the engine found.
[[nodiscard]] learning::SignalReplay replay_of(const jobs::Score& score);
// Which findings accuse with these weights; null: with the weights that ship. Labels below kLeastTrust
// contradict nothing.
[[nodiscard]] learning::SignalJudgement judge_findings(const std::vector<learning::SignalFinding>& findings,
                                                       const jobs::SignalWeights* weights);

// What the engine uses of a version. malformed: check_weights() refuses it, or the version is of another
// kind.
[[nodiscard]] Result<jobs::SignalWeightsPtr> weights_of(const learning::Version& version);

}  // namespace autopilot::api
