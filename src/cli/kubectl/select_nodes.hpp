// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/kubectl/cluster_options.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Which nodes of a cluster are meant.
struct NodeSelection {
  std::string job;         // "<namespace>:<label selector>" of pods: the nodes that they are on
  std::string node_label;  // a label selector of nodes

  [[nodiscard]] bool is_empty() const { return job.empty() && node_label.empty(); }
};

// Their names, in order, each once; of both selections those that are in both. Asks the API server.
// not_found: there is none; malformed: `job` is none.
[[nodiscard]] Result<std::vector<std::string>> select_nodes(const ClusterOptions& cluster,
                                                            const NodeSelection& selection);

}  // namespace autopilot::cli
