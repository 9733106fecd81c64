// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/kubectl/node_view.hpp"
#include "cli/output/table.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"

namespace autopilot::cli {

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
