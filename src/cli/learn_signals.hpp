// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "learning/adoption/propose_all.hpp"
#include "learning/adoption/propose_signals.hpp"
#include "learning/adoption/version.hpp"
#include "learning/report/report_records.hpp"

// The weights of signals of `autopilot learn propose`.
namespace autopilot::cli {

// Folders of job telemetry with labels are evaluated by the engine with the values that ship: its findings,
// and how near healthy nodes come to the margins. The error of the folder; malformed: it has no labels.
[[nodiscard]] Result<learning::SignalInput> read_signals(const std::vector<std::string>& folders);

// Adds what history knows about findings.
void add_findings(learning::SignalInput& input, const learning::ReportRecords& records);

// Adds the proposal, or why there is none; nothing without folders and findings. All findings are weighed
// again, and the folders replayed. The proposal is refused if more labels contradict it than the values in
// use, if F1 falls, or if there are more false accusations.
[[nodiscard]] Status add_signal_proposal(const learning::SignalInput& input,
                                         const std::vector<std::string>& folders,
                                         learning::LearnOutcome& outcome);

}  // namespace autopilot::cli
