// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/json_writer.hpp"
#include "cli/kubectl/node_view.hpp"
#include "cli/output/table.hpp"

// Tables and JSON of the nodes of a cluster; docs/kubernetes.md describes the JSON. Pure.
namespace autopilot::cli {

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

}  // namespace autopilot::cli
