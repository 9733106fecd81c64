// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output/table.hpp"
#include "learning/records.hpp"
#include "store/history/history.hpp"

namespace autopilot::cli {

// One sentence about the record, without its place and begin.
[[nodiscard]] std::string summary_of(const learning::HistoryRecord& record);

// One row for each record, in their order.
[[nodiscard]] std::string render_history(std::span<const learning::HistoryRecord> records,
                                         const TableStyle& style);
[[nodiscard]] std::string render_history_status(const std::string& place, const store::HistoryStatus& status,
                                                const TableStyle& style);

// RFC 4180, with a line end: type, id, cluster, node, gpu, job, begin, end, outcome, summary. A text that a
// spreadsheet would take for a formula gets a leading apostrophe.
[[nodiscard]] std::string history_csv_titles();
[[nodiscard]] std::string to_csv(const learning::HistoryRecord& record);

}  // namespace autopilot::cli
