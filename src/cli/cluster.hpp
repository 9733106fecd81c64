// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "agent/cluster_link.hpp"
#include "config/config.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// How the cluster of the configuration is reached: its kubeconfig, else the account of the pod that this
// process runs in.
[[nodiscard]] Result<agent::ClusterDoor> open_cluster(const config::Kubernetes& settings,
                                                      const std::map<std::string, std::string>& variables);

}  // namespace autopilot::cli
