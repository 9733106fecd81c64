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

// The report that an earlier agent of this node left in the cluster. Blocks, for at most `deadline`.
// not_found: there is none. conflict: it is of another kind of machine (`simulated`), and not for this agent;
// malformed: it cannot be understood. Else what kept it from being read: nobody knows what it says.
[[nodiscard]] Result<NodeReport> recall_report(const kube::ClusterDoor& door, const std::string& node,
                                               bool simulated, const Clock& clock,
                                               Duration deadline = kRecallDeadline);

// Says so in the log.
void log_taken_over(const NodeReport& report);

// An answer of the API server, as recall_report takes it: malformed, or a conflict, when it is of no use.
[[nodiscard]] Result<NodeReport> read_report(std::string_view json, const std::string& node, bool simulated);

// What a journal must hold for recall() (recall.hpp) to find what the report says.
[[nodiscard]] store::Batch to_batch(const NodeReport& report);

}  // namespace autopilot::report
