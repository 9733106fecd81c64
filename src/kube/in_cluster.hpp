// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result.hpp"
#include "kube/access.hpp"

namespace autopilot::kube {

// Access of a pod, with its service account. host, port: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT,
// empty if not set. not_found: not in a pod of a cluster. denied: the pod has no token.
[[nodiscard]] Result<Access> in_cluster_access(const std::string& host, const std::string& port,
                                               const ReadFile& read_file);

}  // namespace autopilot::kube
