// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"

#include <utility>

#include "cli/cluster_files.hpp"
#include "cli/settings.hpp"
#include "kube/in_cluster.hpp"
#include "kube/kubeconfig.hpp"

namespace autopilot::cli {
Result<kube::ClusterDoor> open_cluster(const config::Kubernetes& settings,
                                       const std::map<std::string, std::string>& variables) {
  auto access =
      settings.kubeconfig.empty()
          ? kube::in_cluster_access(variable(variables, "KUBERNETES_SERVICE_HOST"),
                                    variable(variables, "KUBERNETES_SERVICE_PORT"), read_cluster_file)
          : kube::read_kubeconfig({settings.kubeconfig}, "", read_cluster_file);
  if (!access)
    return fail(access.error().code, "kubernetes.write_node is on: " + access.error().what +
                                         (settings.kubeconfig.empty()
                                              ? "; `kubernetes.kubeconfig` names the cluster outside of a pod"
                                              : ""));
  std::string name_space = settings.name_space;
  if (name_space.empty()) name_space = settings.kubeconfig.empty() ? access->name_space : "autopilot";
  const bool is_own = settings.kubeconfig.empty() && name_space == access->name_space;
  return kube::ClusterDoor{std::move(*access), read_cluster_file, run_credential_plugin,
                           std::move(name_space), is_own ? variable(variables, "POD_NAME") : ""};
}

}  // namespace autopilot::cli
