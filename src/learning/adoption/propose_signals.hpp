// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "learning/adoption/version.hpp"
#include "learning/records.hpp"
#include "learning/signals/signal_margins.hpp"
#include "learning/signals/signal_weights.hpp"

namespace autopilot::learning {

// The subject of all proposals of weights of signals: one is in use at a time.
inline constexpr std::string_view kSignalsSubject = "signals of findings about jobs";

struct SignalInput {
  std::vector<SignalInUse> signals;  // as they ship
  double prior = 0;                  // as it ships
  std::vector<SignalFinding> findings;
  SignalScores scores;                // empty: no margins are learned
  std::vector<LabelledFault> faults;  // of the scores
  std::span<const Version> versions;  // of the store
  double findings_budget = 10;        // false findings for each 1000 node-days, for the margins
};

struct SignalOutcome {
  std::optional<Version> proposal;     // without steps and without a replay; not set: nothing changes
  std::vector<std::string> refused;    // a sentence for weights, for margins: why nothing was learned
  std::vector<std::string> unchanged;  // "weights of signals", "margins of signals": what is in use fits
};

// What the labels and scores suggest. A margin is raised only for signals of findings that tests or diagnoses
// refute (trust of 0.9 and more). If labels contradict the evidence or each other (`conflict` of
// learn_weights), no margin changes either. Created at the time of the newest finding or score: the same
// input gives the same proposal with the same id.
[[nodiscard]] SignalOutcome propose_signals(const SignalInput& input);

// Takes the proposal back because of what is worse with it (what_is_worse). nullopt: nothing changes.
void withhold(SignalOutcome& outcome, const std::optional<std::string>& worse);

// "sm_clock_low weighs 3.2 instead of 4", for a person.
[[nodiscard]] std::string words_of(const LearnedSignals& learned);

// Findings about jobs with the signals that history has of them, settled by their labels and by validations.
// A validation of the node of a finding that failed between the detection and two days after the end is a
// label `faulty` of a repeated test. A validation that passed labels nothing: not each fault shows in a test.
[[nodiscard]] std::vector<SignalFinding> findings_of_history(std::span<const Fault> faults,
                                                             std::span<const Label> labels,
                                                             std::span<const NodeJob> jobs,
                                                             std::span<const Repair> repairs,
                                                             std::span<const Validation> validations);

}  // namespace autopilot::learning
