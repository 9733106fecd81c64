// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/result.hpp"
#include "kube/cluster_door.hpp"

namespace autopilot::cli {

// How a cluster is reached: by that kubeconfig, else by the account of the pod that this process runs in.
// name_space: of Autopilot; empty: that of the pod, or `autopilot` with a kubeconfig.
[[nodiscard]] Result<kube::ClusterDoor> open_cluster(const std::string& kubeconfig,
                                                     const std::string& name_space,
                                                     const std::map<std::string, std::string>& variables);

}  // namespace autopilot::cli
