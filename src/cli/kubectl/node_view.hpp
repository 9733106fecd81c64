// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/health.hpp"
#include "kube/health_report.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {

// A node as its cluster knows it: by its report, and by label and annotations of the Node object.
struct NodeView {
  std::string node;
  std::optional<Verdict> verdict = {};  // the word on the node; nothing: nobody knows how it is
  Health health = Health::unknown;
  std::optional<WallTime> checked = {};  // when its agent said so
  std::string last_word = {};  // that stood there when it was checked last, where nobody knows it now
  std::string worst = {};      // the worst incident, or why nobody knows
  std::string looked = {};     // "30 of 31"; empty: it has no report
  std::optional<bool> is_simulated = {};  // nothing: it has no report yet, which alone says so
};

// An agent writes every five minutes: after three that are missing nobody watches the node any more. Also of
// a time that is further ahead of `now`, because one of the clocks is wrong.
inline constexpr Duration kStaleAfter = std::chrono::minutes{15};

// One view for each node that has a report, the label <prefix>/gpuhealth or the annotation
// <prefix>/checked-at, by name. What was written last counts: the report, or what stands on the node. Where
// that is stale the node is unknown, whatever it says. Pure.
[[nodiscard]] std::vector<NodeView> node_views(std::span<const kube::HealthReport> reports,
                                               std::span<const kube::Node> nodes, const std::string& prefix,
                                               WallTime now);

// Whether a person should look at it: it is neither PASS nor without accelerator, or something of it is not
// healthy.
[[nodiscard]] bool needs_a_look(const NodeView& view);

// failed before unknown before degraded before healthy, then by name.
void sort_worst_first(std::vector<NodeView>& views);

}  // namespace autopilot::cli
