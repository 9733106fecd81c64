// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/history_facts.hpp"
#include "core/clock.hpp"
#include "learning/records.hpp"
#include "store/history/history_writer.hpp"

// Records that depend on what history has. They are made on the thread of the writer.
namespace autopilot::agent {

// A job of this node that runs or ended, joined with its newest record.
[[nodiscard]] store::HistoryWriter::Make continue_job(learning::NodeJob job);
// What a validation knows of a run that ended, joined with the record of that run.
[[nodiscard]] store::HistoryWriter::Make explain_job(learning::NodeJob ended);

// Faults as they are seen now, joined with their records.
[[nodiscard]] store::HistoryWriter::Make note_faults(std::vector<SeenFault> faults);
// Incidents that the journal has and history lacks, because it was full or is new.
[[nodiscard]] store::HistoryWriter::Make take_over_incidents(std::string journal, std::string node,
                                                             bool is_simulated);

// What this run of the agent has seen.
struct SeenInRun {
  std::string node;
  WallTime begin{};                 // of the run
  std::set<std::string> jobs;       // keys
  std::set<std::string> faults;     // ids of findings about jobs
  bool are_faults_complete = true;  // false: others were seen too
  bool is_history_shared = false;   // other agents write it too
};
// Ends what earlier runs left open and this run has not seen: jobs at the begin of the run, because their
// true end is not known; findings about jobs of this node with the job, else also at the begin of the run,
// unless the history is shared.
[[nodiscard]] store::HistoryWriter::Make end_absent(SeenInRun seen);

}  // namespace autopilot::agent
