// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "learning/records.hpp"
#include "store/history/history_writer.hpp"

// Records that depend on what history has. They are made on the thread of the writer.
namespace autopilot::agent {

// A job of this node that runs or ended, joined with its newest record.
[[nodiscard]] store::HistoryWriter::Make continue_job(learning::NodeJob job);
// What a validation knows of a run that ended, joined with the record of that run.
[[nodiscard]] store::HistoryWriter::Make explain_job(learning::NodeJob ended);

}  // namespace autopilot::agent
