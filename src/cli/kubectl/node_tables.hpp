// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "cli/kubectl/node_view.hpp"
#include "cli/output/table.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {

// Tables and JSON of the nodes of a cluster; docs/kubernetes.md describes the JSON. Pure.

// "PASS"; "UNKNOWN" without a current verdict; "-" without accelerator.
[[nodiscard]] std::string_view verdict_text(const NodeView& view);
// The worst incident, and a mark for a simulated machine.
[[nodiscard]] std::string worst_text(const NodeView& view);

[[nodiscard]] std::string render_nodes(std::span<const NodeView> views, WallTime now,
                                       const TableStyle& style);
[[nodiscard]] std::string nodes_json(std::span<const NodeView> views, WallTime now);

// Number of nodes for each verdict, and the nodes that need attention, worst first.
[[nodiscard]] std::string render_cluster(std::span<const NodeView> views, WallTime now,
                                         const TableStyle& style);
[[nodiscard]] std::string cluster_json(std::span<const NodeView> views, WallTime now);

// The worst health; unknown if `views` is empty.
[[nodiscard]] Health health_of(std::span<const NodeView> views);

// All members of one list item.
void write_node_members(api::JsonWriter& out, const NodeView& view);

// Everything that the cluster stores about one node.
struct NodeDetails {
  NodeView view;
  kube::ReportDetails report;                   // empty: the node has no report
  std::vector<kube::NodeCondition> conditions;  // Autopilot's conditions
};

// The conditions of a Node object that agents write.
[[nodiscard]] std::vector<kube::NodeCondition> own_conditions(const kube::Node& node);

// docs/kubernetes.md describes the JSON. Pure.
[[nodiscard]] std::string render_details(const NodeDetails& details, WallTime now, const TableStyle& style);
[[nodiscard]] std::string details_json(const NodeDetails& details, WallTime now);

}  // namespace autopilot::cli
