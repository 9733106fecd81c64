// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/history_facts.hpp"
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

}  // namespace autopilot::agent
