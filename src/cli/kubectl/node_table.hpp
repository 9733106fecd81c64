// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/json_writer.hpp"
#include "cli/kubectl/node_view.hpp"
#include "cli/output/table.hpp"

// Nodes of a cluster for people and programs; docs/kubernetes.md describes the JSON. Pure.
namespace autopilot::cli {

// "PASS", "UNKNOWN" where nobody knows, "-" where there is no accelerator.
[[nodiscard]] std::string_view verdict_text(const NodeView& view);
// What is wrong, and whether the machine exists.
[[nodiscard]] std::string worst_text(const NodeView& view);

[[nodiscard]] std::string render_nodes(std::span<const NodeView> views, WallTime now,
                                       const TableStyle& style);
[[nodiscard]] std::string nodes_json(std::span<const NodeView> views, WallTime now);

// How many there are of each verdict, and those that need a look, the worst first.
[[nodiscard]] std::string render_cluster(std::span<const NodeView> views, WallTime now,
                                         const TableStyle& style);
[[nodiscard]] std::string cluster_json(std::span<const NodeView> views, WallTime now);

// The worst of all; unknown without any.
[[nodiscard]] Health health_of(std::span<const NodeView> views);

// One whole item of a list.
void write_node_members(api::JsonWriter& out, const NodeView& view);

}  // namespace autopilot::cli
