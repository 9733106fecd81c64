// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/result.hpp"
#include "kube/credentials.hpp"

namespace autopilot::cli {

// Access to a cluster: from the kubeconfig; if empty, from the service account of the pod of this process.
// name_space: namespace of Autopilot; empty: the pod's namespace, or `autopilot` with a kubeconfig.
[[nodiscard]] Result<kube::ClusterDoor> open_cluster(const std::string& kubeconfig,
                                                     const std::string& name_space,
                                                     const std::map<std::string, std::string>& variables);

}  // namespace autopilot::cli
