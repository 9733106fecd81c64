// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "agent/cluster_link.hpp"
#include "agent/exporters/node_report_reader.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "store/journal.hpp"

namespace autopilot::agent {

inline constexpr Duration kRecallDeadline = std::chrono::seconds{3};

// The report that an earlier agent of this node left in the cluster. Blocks, for at most `deadline`.
// not_found: there is none. conflict: it is of another kind of machine (`simulated`), and not for this agent.
// Else what kept it from being read.
[[nodiscard]] Result<NodeReport> recall_report(const ClusterDoor& door, const std::string& node,
                                               bool simulated, const Clock& clock,
                                               Duration deadline = kRecallDeadline);

// What a journal must hold for recall() (recall.hpp) to find what the report says.
[[nodiscard]] store::Batch to_batch(const NodeReport& report);

}  // namespace autopilot::agent
