// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/credentials.hpp"
#include "report/node_report_reader.hpp"
#include "store/journal.hpp"

namespace autopilot::report {

inline constexpr Duration kRecallDeadline = std::chrono::seconds{3};

// Reads the report of an earlier agent of this node from the cluster. Blocks, for at most `deadline`.
// not_found: there is none; conflict: it is of another kind of machine (`simulated`), and not for this agent;
// malformed: it cannot be parsed; any other code: the read failed, and the content is not known.
[[nodiscard]] Result<NodeReport> recall_report(const kube::ClusterDoor& door, const std::string& node,
                                               bool simulated, const Clock& clock,
                                               Duration deadline = kRecallDeadline);

// Logs that the report was taken over.
void log_taken_over(const NodeReport& report);

// Parses an answer of the API server for recall_report. Errors: malformed and conflict, as above.
[[nodiscard]] Result<NodeReport> read_report(std::string_view json, const std::string& node, bool simulated);

// Journal entries from which recall() (recall.hpp) restores the state of the report.
[[nodiscard]] store::Batch to_batch(const NodeReport& report);

}  // namespace autopilot::report
