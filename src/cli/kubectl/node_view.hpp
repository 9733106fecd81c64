// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/health.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {

// State of a node in its cluster, from its report and the label and annotations of its Node object.
struct NodeView {
  std::string node;
  std::optional<Verdict> verdict = {};  // current verdict; nullopt: stale or not known
  Health health = Health::unknown;
  std::optional<WallTime> checked = {};   // time of the agent's last report
  std::string last_verdict = {};          // verdict of the last check, if it is no longer current
  std::string worst = {};                 // the worst incident, or the reason for UNKNOWN
  std::string looked = {};                // checks that ran, "30 of 31"; empty: no report
  std::optional<bool> is_simulated = {};  // nullopt: no report, the only source of it
};

// An agent writes every five minutes; after three missing writes a node counts as unmonitored. The same limit
// applies to times in the future, where one of the clocks is wrong.
inline constexpr Duration kStaleAfter = std::chrono::minutes{15};

// One view for each node that has a report, the label <prefix>/gpuhealth or the annotation
// <prefix>/checked-at, sorted by name. The newer one of report and Node object decides. If it is stale, the
// node is unknown. Pure.
[[nodiscard]] std::vector<NodeView> node_views(std::span<const kube::HealthReport> reports,
                                               std::span<const kube::Node> nodes, const std::string& prefix,
                                               WallTime now);

// True if the node needs attention: its verdict is not PASS although it has an accelerator, or a subject is
// not healthy.
[[nodiscard]] bool needs_attention(const NodeView& view);

// Order: failed, unknown, degraded, healthy; then by name.
void sort_worst_first(std::vector<NodeView>& views);

}  // namespace autopilot::cli
