// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"

#include <utility>

#include "cli/cluster_files.hpp"
#include "cli/settings.hpp"
#include "kube/access.hpp"
#include "kube/kubeconfig.hpp"

namespace autopilot::cli {

Result<kube::ClusterDoor> open_cluster(const std::string& kubeconfig, const std::string& name_space,
                                       const std::map<std::string, std::string>& variables) {
  auto access = kubeconfig.empty() ? kube::in_cluster_access(variable(variables, "KUBERNETES_SERVICE_HOST"),
                                                             variable(variables, "KUBERNETES_SERVICE_PORT"),
                                                             read_cluster_file)
                                   : kube::read_kubeconfig({kubeconfig}, "", read_cluster_file);
  if (!access)
    return fail(
        access.error().code,
        access.error().what + (kubeconfig.empty() ? "; outside a pod, set `kubernetes.kubeconfig`" : ""));
  std::string own = name_space;
  if (own.empty()) own = kubeconfig.empty() ? access->name_space : "autopilot";
  const bool is_of_pod = kubeconfig.empty() && own == access->name_space;
  return kube::ClusterDoor{std::move(*access), read_cluster_file, run_credential_plugin, std::move(own),
                           is_of_pod ? variable(variables, "POD_NAME") : ""};
}

}  // namespace autopilot::cli
