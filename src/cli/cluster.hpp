// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "config/config.hpp"
#include "core/result.hpp"
#include "kube/cluster_door.hpp"

namespace autopilot::cli {

// How the cluster of the configuration is reached: its kubeconfig, else the account of the pod that this
// process runs in.
[[nodiscard]] Result<kube::ClusterDoor> open_cluster(const config::Kubernetes& settings,
                                                     const std::map<std::string, std::string>& variables);

}  // namespace autopilot::cli
