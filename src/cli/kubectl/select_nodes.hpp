// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/kubectl/cluster_options.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Selection of nodes of a cluster.
struct NodeSelection {
  std::string job;         // "<namespace>:<label selector>" of pods: the nodes of these pods
  std::string node_label;  // a label selector of nodes

  [[nodiscard]] bool is_empty() const { return job.empty() && node_label.empty(); }
};

// Node names, sorted, each once; with both selections, the nodes in both. Reads from the API server.
// not_found: no node matches; malformed: `job` is not NAMESPACE:SELECTOR.
[[nodiscard]] Result<std::vector<std::string>> select_nodes(const ClusterOptions& cluster,
                                                            const NodeSelection& selection);

}  // namespace autopilot::cli
