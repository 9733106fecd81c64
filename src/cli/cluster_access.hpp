// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/result.hpp"
#include "kube/access.hpp"
#include "kube/session.hpp"

namespace autopilot::cli {

// Access to a cluster: from the kubeconfig; if empty, from the service account of the pod of this process.
// name_space: namespace of Autopilot; empty: the pod's namespace, or `autopilot` with a kubeconfig.
[[nodiscard]] Result<kube::ClusterDoor> open_cluster(const std::string& kubeconfig,
                                                     const std::string& name_space,
                                                     const std::map<std::string, std::string>& variables);

// Reads a credentials file or a kubeconfig of at most 4 MiB: kube::ReadFile.
[[nodiscard]] Result<std::string> read_cluster_file(const std::string& path);
// Problem and remedy if other users of the machine can read the private key at path `key`. Empty if they
// cannot, if the file does not exist, if `key` is empty, and in a pod, where mounts are private.
[[nodiscard]] std::string open_key_problem(const std::string& key,
                                           const std::map<std::string, std::string>& variables);
// Runs a credential plugin for at most 30 s: kube::RunPlugin.
[[nodiscard]] Result<std::string> run_credential_plugin(const kube::ExecPlugin& plugin,
                                                        const std::string& exec_info);

}  // namespace autopilot::cli
