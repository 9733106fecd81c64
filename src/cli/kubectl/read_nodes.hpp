// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/kubectl/cluster_options.hpp"
#include "cli/kubectl/cluster_reader.hpp"
#include "cli/kubectl/node_details.hpp"
#include "cli/kubectl/node_view.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

struct ClusterNodes {
  std::vector<NodeView> views;  // by name
  std::string missing;          // error of the Node objects, while reports were read; empty: no error
};
[[nodiscard]] Result<ClusterNodes> read_nodes(ClusterReader& cluster, const InstallationOptions& installation,
                                              WallTime now);

// Prints on standard error what is missing, and a remedy if no node was found.
void tell_missing(const ClusterNodes& nodes, const InstallationOptions& installation);

struct ClusterNode {
  NodeDetails details;
  std::string missing;
};
// not_found: the cluster has no such node.
[[nodiscard]] Result<ClusterNode> read_node(ClusterReader& cluster, const InstallationOptions& installation,
                                            const std::string& node, WallTime now);

}  // namespace autopilot::cli
