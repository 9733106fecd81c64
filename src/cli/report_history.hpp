// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/report/report_records.hpp"

// Histories of several nodes, read for one report.
namespace autopilot::cli {

// --history FILE ...
void add_histories_option(CLI::App& verb, std::vector<std::string>& files);

// The records of all files; without a file, those of this machine's agent. Jobs that overlap [since, until),
// validations from 30 days before `since` on, faults, labels and repairs of all time.
// The errors of open_history; exhausted: more than ReportRecords::kMostRecords.
[[nodiscard]] Result<learning::ReportRecords> read_report_records(const std::vector<std::string>& files,
                                                                  WallTime since, WallTime until);

}  // namespace autopilot::cli
